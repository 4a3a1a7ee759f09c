#!/usr/bin/env bash
# Builds a real Ollama server from its Go module, at the version of the client in go.mod, and prints its path. Progress goes to
# stderr.
#
# A server that was built before is used again. It is kept next to Go's own cache, outside the repository, or in the directory
# that AGENT_OLLAMA_CACHE names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
say() { echo "ollama: $*" >&2; }

version=$(cd "$here" && go list -m -f '{{.Version}}' github.com/ollama/ollama)
cache=${AGENT_OLLAMA_CACHE:-$(dirname "$(go env GOCACHE)")/agent-ollama}
server=$cache/ollama-$version
if [ -x "$server" ]; then
	say "$server is there"
	echo "$server"
	exit
fi

# The module's archive lacks files that its sources include from directories called vendor. Two of the three come from Debian,
# the third is a stand-in.
missing=()
command -v g++ >/dev/null || missing+=(g++)
[ -r /usr/include/nlohmann/json.hpp ] || missing+=(nlohmann-json3-dev)
[ -r /usr/include/stb/stb_image.h ] || missing+=(libstb-dev)
if [ ${#missing[@]} -gt 0 ]; then
	[ "$(id -u)" = 0 ] || { say "missing: ${missing[*]}: install them, or run this as root"; exit 1; }
	say "installing ${missing[*]}"
	apt-get update -qq >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
fi

# go install writes to a directory of its own, so that an interrupted build leaves nothing that looks like a server. It runs
# under nice, since it uses every core for about ten minutes.
say "building ollama $version, some ten minutes on two cores"
mkdir -p "$cache"
build=$(mktemp -d "$cache/build.XXXXXX")
trap 'rm -rf "$build"' EXIT
started=$SECONDS
# go install of a package at a version uses the package's own go.mod, not ours.
CGO_ENABLED=1 CGO_CPPFLAGS="-I$here/ollama" GOBIN=$build GOFLAGS='' \
	nice -n 19 go install "github.com/ollama/ollama@$version" >&2
mv "$build/ollama" "$server"
say "built $server in $((SECONDS - started)) s"
echo "$server"
