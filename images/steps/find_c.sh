#!/bin/sh
# Looks for packages that need a C compiler, among what the modules of a workspace import from other modules and what those
# packages import:
#
#	find_c.sh ROOT…
#
# /media is that of compile.sh. Each line of /usr/lib/agent-go/found is such a package, or "C" for the workspace's own, and its ROOT.
set -eu
umask 022
tmp=$(mktemp -d)
export HOME="$tmp" GOWORK=off GOCACHE="$tmp/go-cache" STATICCHECK_CACHE="$tmp/staticcheck-cache"
for root; do
	rm -rf "$tmp/all"
	cp -R /media "$tmp/all"
	chmod -R u+w "$tmp/all"
	cd "$tmp/all/$root"
	{
		grep -x C .imports || :
		# shellcheck disable=SC2046 # words on purpose
		/usr/lib/agent/go/run env CGO_ENABLED=1 go list -e -deps -f '{{if .CgoFiles}}{{if not .Standard}}{{.ImportPath}}{{end}}{{end}}' $(grep -vx C .imports) || :
	} | while read -r name; do printf '%s %s\n' "$name" "$root"; done
done >/usr/lib/agent-go/found
rm -rf "$tmp"
