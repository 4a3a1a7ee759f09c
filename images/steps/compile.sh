#!/bin/sh
# Compiles, vets and analyses what the modules of a workspace import from other modules, without a network. Otherwise every box
# would do so anew.
#
#	compile.sh ROOT…
#
# For each ROOT, /media holds go.mod, go.sum, and .imports with the paths of packages, one a line. No code of these packages
# runs. Whatever cannot be compiled is left to the boxes.
set -eu
umask 022
run=/usr/lib/agent/go/run
cache=/usr/lib/agent-go
tmp=$(mktemp -d)
export HOME="$tmp" GOCACHE=$cache/go-cache STATICCHECK_CACHE=$cache/staticcheck-cache GOWORK=off
# A package that a C compiler cannot compile, because a header is missing, may have another form without C.
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
# warm compiles, vets and analyses the package in the current directory, and thereby what it imports.
warm() {
	printf 'package warm\n\nimport "testing"\n\nfunc Test(*testing.T) {}\n' >warm_test.go
	for command in build vet 'vet -json' 'test -c -o /dev/null'; do
		# shellcheck disable=SC2086 # words on purpose
		$run go $command . || :
	done
	$run staticcheck -tests -checks inherit . || :
}
# Some packages of the standard library are different ones with C.
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
	# A package may have files for other systems only.
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
