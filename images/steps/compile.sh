#!/bin/sh
# Compiles, vets and analyses what the modules of a workspace import of others, without a network: boxes would else do so,
# each anew.
#
#	compile.sh ROOT…
#
# Below /media lie go.mod and go.sum of each ROOT, and .imports with the paths of packages, one a line. Nothing of them is run.
# What cannot be compiled is left to the boxes.
set -eu
umask 022
run=/usr/lib/agent/go/run
cache=/usr/lib/agent-go
tmp=$(mktemp -d)
export HOME="$tmp" GOCACHE=$cache/go-cache STATICCHECK_CACHE=$cache/staticcheck-cache GOWORK=off
# What does not compile with a compiler of C, for a header that is missing, may have another form without one.
if [ -e $cache/cgo ]; then
	cp -R /media "$tmp/all"
	chmod -R u+w "$tmp/all"
	while read -r name root; do
		if [ "$name" != C ] && ! (cd "$tmp/all/$root" && $run go build "$name" </dev/null); then
			rm -f $cache/cgo
			break
		fi
	done <$cache/found
fi
# warm compiles, vets and analyses the package in the current directory, and so what it imports.
warm() {
	printf 'package warm\n\nimport "testing"\n\nfunc Test(*testing.T) {}\n' >warm_test.go
	for command in build vet 'vet -json' 'test -c -o /dev/null'; do
		# shellcheck disable=SC2086 # words on purpose
		$run go $command . || :
	done
	$run staticcheck -tests -checks inherit . || :
}
# Some of the standard library is another one with C.
if [ -e $cache/cgo ]; then
	mkdir "$tmp/std"
	cd "$tmp/std"
	printf 'module warm\n\ngo 1.26\n' >go.mod
	{
		printf 'package warm\n\nimport "C"\n'
		$run go list std | grep -Ev '(^|/)(internal|vendor)(/|$)|^builtin$' | sed 's/.*/import _ "&"/'
	} >warm.go
	warm
fi
for root; do
	rm -rf "$tmp/all"
	cp -R /media "$tmp/all"
	chmod -R u+w "$tmp/all"
	cd "$tmp/all/$root"
	# For other systems there may be no file of a package.
	# shellcheck disable=SC2046 # words on purpose
	$run go list -e -find -f '{{if or .GoFiles .CgoFiles}}{{if ne .Name "main"}}{{.ImportPath}}{{end}}{{end}}' $(grep -vx C .imports) >.found || continue
	[ -s .found ] || continue
	{
		echo 'package warm'
		sed 's/.*/import _ "&"/' .found
	} >warm.go
	warm
done
rm -rf "$tmp" $cache/found $cache/go-cache/trim.txt
chmod -R a+rX $cache
