#!/bin/sh
# Builds the Go tools and fills the caches that boxes link to, without a network:
#
#	go.sh RUN
#
# RUN is the text of go_run.sh, which becomes /usr/lib/agent/go/run. The source of the tools is in /media. The go that commands of
# people, models and the workspace's own gates find starts through it too: there is no network from which Go could get modules.
set -eu
umask 022
agent=/usr/lib/agent
mkdir -p $agent/go $agent/go-cache $agent/staticcheck-cache /tmp/warm
printf '%s' "$1" >$agent/go/run
chmod 0555 $agent/go/run
ln -s /usr/lib/go-1.26/bin/gofmt /usr/local/bin/
printf '#!/bin/sh\nexec %s/go/run go "$@"\n' $agent >/usr/local/bin/go
chmod 0555 /usr/local/bin/go

# Each command of a gate has its own entries in the cache. Running it on a program that imports the whole standard library
# fills them.
cd /tmp/warm
printf 'module warm\n\ngo 1.26\n' >go.mod
{
	printf 'package main\n\nimport (\n'
	/usr/lib/go-1.26/bin/go list std | grep -Ev '(^|/)(internal|vendor)(/|$)|^builtin$' | sed 's/.*/\t_ "&"/'
	printf ')\n\nfunc main() {}\n'
} >main.go
printf 'package main\n\nimport "testing"\n\nfunc Test(*testing.T) {}\n' >main_test.go
export HOME=/tmp GOCACHE=$agent/go-cache STATICCHECK_CACHE=$agent/staticcheck-cache
for command in 'build -o /tmp/warm/out' vet 'vet -json' test; do
	# shellcheck disable=SC2086 # words on purpose
	$agent/go/run go $command .
done
# To measure a package without tests, the go command builds a tool.
mkdir none
printf 'package none\n\nfunc None() {}\n' >none/none.go
$agent/go/run go test -coverprofile=/tmp/warm/profile ./none

# This uses a cache of links, so that only the tools themselves stay.
cd /media
GOCACHE=/tmp/go-cache $agent/go/run go build -mod=vendor -ldflags '-s -w' -o $agent/go/ tool
cd /tmp/warm
# Deprecated parts of the library are not faults here.
$agent/go/run staticcheck -tests -checks inherit,-SA1019 .

rm -rf $agent/*-cache/trim.txt /tmp/warm /tmp/go* /tmp/staticcheck*
chmod -R u=rwX,go=rX $agent/go-cache $agent/staticcheck-cache
