#!/bin/sh
# Builds the agent and its guest from the source in /media into /out, without a network:
#
#	agent.sh SOURCE
#
# SOURCE is the digest of the source, which the program tells as its version. Place, flags and compiler are the same
# every time, so that one source is one program, byte for byte. Compiling runs nothing of what is compiled: there is no
# cgo, nothing is generated, and the go command takes no settings from the source.
set -eu
umask 022
export GOCACHE=/var/cache/go GOWORK=off
cp -R /media /tmp/source
cd /tmp/source
build() {
	# A vendor directory of the source is no dependency: those are checked by their sums.
	/usr/lib/agent/go/run go build -mod=readonly -trimpath -buildvcs=false -ldflags "-s -w -buildid= $3" -o "$1" "$2"
}
build cmd/agent/guestbin/guest ./cmd/guest ''
build /out/agent ./cmd/agent "-X main.builtFrom=$1"
touch -d @0 /out/agent
sha256sum /out/agent | cut -c 1-64 | tr -d '\n' >/out/digest
