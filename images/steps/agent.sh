#!/bin/sh
# Builds the agent and its guest from the source in /media into /out, without a network:
#
#	agent.sh SOURCE
#
# SOURCE is the digest of the source, which the program reports as its version. Directory, flags and compiler are always the
# same, so one source gives one program, byte for byte. Compiling runs no code of the source: there is no cgo, nothing is
# generated, and the go command takes no settings from the source.
set -eu
umask 022
export GOCACHE=/var/cache/go GOWORK=off
cp -R /media /tmp/source
cd /tmp/source
build() {
	# A vendor directory in the source does not count: dependencies are checked against their sums.
	/usr/lib/agent/go/run go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w -buildid= $3" -o "$1" "$2"
}
build cmd/agent/guestbin/guest ./cmd/guest ''
build /out/agent ./cmd/agent "-X main.builtFrom=$1"
touch -d @0 /out/agent
sha256sum /out/agent | cut -c 1-64 | tr -d '\n' >/out/digest
