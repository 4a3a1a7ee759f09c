#!/bin/sh
# Fetches the source of the Go tools to /out/vendor:
#
#	go_fetch.sh GO.MOD GO.SUM
#
# The sums of the recipe decide what is accepted, whatever server it comes from: no checksum database is asked, and a module
# that the sums do not name is refused. No code of a module runs here.
set -eu
export PATH="/usr/lib/go-1.26/bin:$PATH" CGO_ENABLED=0 GOTOOLCHAIN=local GOENV=off GOSUMDB=off GOFLAGS=
export HOME=/tmp GOPATH=/tmp/go GOCACHE=/tmp/go-build
# The machine's own certificates, if there are any: its proxy may use a private authority.
if [ -s /media/ca.crt ]; then
	export SSL_CERT_FILE=/media/ca.crt
fi
cd /out
printf '%s' "$1" >go.mod
printf '%s' "$2" >go.sum
if ! go mod vendor; then
	echo "the Go tools could not be fetched through GOPROXY=$GOPROXY: set GOPROXY to a module proxy that answers" >&2
	exit 1
fi
if [ "$(cat go.sum)" != "$(printf '%s' "$2")" ]; then
	echo "the recipe's sums do not name every module; they would have to be:" >&2
	cat go.sum >&2
	exit 1
fi
