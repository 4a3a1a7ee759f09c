#!/usr/bin/env bash
# Makes two releases of the same commit from two directories, and checks that their bytes are the same and that the checksums
# hold. Argument: the module version of cyclonedx-gomod.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for n in one two; do
	git clone -q . "$work/$n"
	bash "$work/$n/.ci/release" "$1" "$work/$n.out" linux/amd64 darwin/arm64
done
diff -r "$work/one.out" "$work/two.out"
(cd "$work/one.out" && sha256sum --quiet -c SHA256SUMS)
echo "release: the same twice"
