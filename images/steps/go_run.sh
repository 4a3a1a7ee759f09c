#!/bin/sh
# Runs a command of Go in a box: /usr/lib/agent/go/run COMMAND…
#
# A box has no network, a read-only root and little memory, while compiling the standard library takes a minute
# and 160 MB. The image has it compiled, vetted and analysed. Go insists on a cache that it can write to, and
# links are enough for it: some thousand in /tmp, made in a tenth of a second by the first command of a box.
# What is compiled depends on these variables; with others it would be compiled anew. What a command of a person sets stays.
export PATH="/usr/lib/go-1.26/bin:/usr/lib/agent/go:${PATH:-/usr/local/bin:/usr/bin:/bin}"
cgo=0
[ ! -e /usr/lib/agent-go/cgo ] || cgo=1 # what is imported needs it, and there is a compiler for it
export CGO_ENABLED="${CGO_ENABLED:-$cgo}" GOENV=off GOFLAGS="${GOFLAGS:--buildvcs=false}" GOPROXY="${GOPROXY:-off}" GOSUMDB="${GOSUMDB:-off}" GOTOOLCHAIN=local
export GOPATH="${GOPATH:-/tmp/go}" GOCACHE="${GOCACHE:-/tmp/go-cache}" STATICCHECK_CACHE="${STATICCHECK_CACHE:-/tmp/staticcheck-cache}"
# Go counts how it is used in a process that goes on behind a command that ended. Only this file keeps it from that.
counts=${XDG_CONFIG_HOME:-${HOME:+$HOME/.config}}
[ -z "$counts" ] || [ -e "$counts/go/telemetry/mode" ] ||
	{ mkdir -p "$counts/go/telemetry" && echo off >"$counts/go/telemetry/mode"; } 2>/dev/null || :
# Modules of a workspace, where any are installed.
[ ! -d /deps/go ] || export GOMODCACHE="${GOMODCACHE:-/deps/go}"

# link NAME DIRECTORY makes the directory with links to the image's cache of that name, or to that which holds what the workspace
# imports as well. The fresh trim.txt keeps Go from looking for entries that nobody
# has used for days, which are all of them. Of two that make it at once one wins.
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
