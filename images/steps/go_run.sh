#!/bin/sh
# Runs a Go command in a box: /usr/lib/agent/go/run COMMAND…
#
# A box has no network, a read-only root and little memory, while compiling the standard library takes a minute and 160 MB. So the
# image has it compiled, vetted and analysed. Go insists on a cache that it can write to, but links are enough: the first command
# of a box makes some thousand in /tmp, in a tenth of a second. These variables decide what is compiled; with other values it would
# be compiled anew. Values that a person's command sets are kept.
export PATH="/usr/lib/go-1.26/bin:/usr/lib/agent/go:${PATH:-/usr/local/bin:/usr/bin:/bin}"
cgo=0
[ ! -e /usr/lib/agent-go/cgo ] || cgo=1 # the imports need it, and there is a compiler for it
export CGO_ENABLED="${CGO_ENABLED:-$cgo}" GOENV=off GOFLAGS="${GOFLAGS:--buildvcs=false}" GOPROXY="${GOPROXY:-off}" GOSUMDB="${GOSUMDB:-off}" GOTOOLCHAIN=local
export GOPATH="${GOPATH:-/tmp/go}" GOCACHE="${GOCACHE:-/tmp/go-cache}" STATICCHECK_CACHE="${STATICCHECK_CACHE:-/tmp/staticcheck-cache}"
# Go counts its use in a process that outlives the command. Only this file prevents that.
counts=${XDG_CONFIG_HOME:-${HOME:+$HOME/.config}}
[ -z "$counts" ] || [ -e "$counts/go/telemetry/mode" ] ||
	{ mkdir -p "$counts/go/telemetry" && echo off >"$counts/go/telemetry/mode"; } 2>/dev/null || :
# The modules of a workspace, if any are installed.
[ ! -d /deps/go ] || export GOMODCACHE="${GOMODCACHE:-/deps/go}"

# link NAME DIRECTORY fills the directory with links to the image's cache of that name, or to the cache that also holds what the
# workspace imports. The fresh trim.txt keeps Go from looking for entries that were not used for days, which are all of them. If two
# commands make the directory at once, one wins.
link() {
	[ -d "$2" ] && return
	from=/usr/lib/agent/$1
	[ ! -d "/usr/lib/agent-go/$1" ] || from=/usr/lib/agent-go/$1
	cp -rs "$from" "$2.$$" && rm -f "$2.$$/trim.txt" && date +%s >"$2.$$/trim.txt" || exit 1
	mv -T "$2.$$" "$2" 2>/dev/null || rm -rf "$2.$$"
}
link go-cache "$GOCACHE"
link staticcheck-cache "$STATICCHECK_CACHE"
exec "$@"
