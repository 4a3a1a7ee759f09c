#!/bin/sh
# Unpacks npm archives, without npm and without a network:
#
#	npm.sh [NAME [LINK=FILE]… --]…
#
# The archive of NAME is the one file in /media/NAME, whose content BuildKit has compared with the recipe's digest. It is unpacked to
# /usr/lib/agent/npm/NAME, without the directory that npm packs everything into, and none of its scripts runs. Each LINK in
# /usr/local/bin starts the FILE of the archive.
set -eu
npm=/usr/lib/agent/npm
umask 022
while [ $# -gt 0 ]; do
	name=$1
	shift
	mkdir -p "$npm/$name"
	tar -xzf /media/"$name"/*.tgz -C "$npm/$name" --strip-components=1 --no-same-owner --no-same-permissions
	while [ "$1" != -- ]; do
		file=$npm/$name/${1#*=}
		chmod 0755 "$file"
		ln -s "$file" "/usr/local/bin/${1%%=*}"
		shift
	done
	shift
done
chown -R 0:0 "$npm"
chmod -R u=rwX,go=rX "$npm"
find "$npm" -type f -perm /6000 -exec chmod a-s {} +
