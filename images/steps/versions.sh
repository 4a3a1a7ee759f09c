#!/bin/sh
# Asks the programs in the image for their versions, and dpkg for those of packages, and writes them to /out/versions:
#
#	versions.sh NAME COMMAND [NAME COMMAND]… -- PACKAGE…
#
# as lines "tool NAME first-line-with-a-version" and "package NAME VERSION".
set -eu
export LC_ALL=C.UTF-8
while [ "$1" != -- ]; do
	said=$(sh -c "$2" 2>&1) || { echo "$2: $said" >&2; exit 1; }
	printf 'tool %s %s\n' "$1" "$(printf '%s\n' "$said" | grep -m 1 '[0-9]\.[0-9]')"
	shift 2
done >/out/versions
shift
for name; do
	dpkg-query -W -f 'package ${Package} ${Version}\n' "$name"
done >>/out/versions
