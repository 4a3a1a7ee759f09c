#!/bin/sh
# Looks for packages that are compiled with a compiler of C, among what the modules of a workspace import of others, and what those
# import:
#
#	find_c.sh ROOT…
#
# /media is that of compile.sh. Each such package, or "C" for the workspace's own, is a line of /usr/lib/agent-go/found, and its ROOT behind it.
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
