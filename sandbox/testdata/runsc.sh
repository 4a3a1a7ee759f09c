#!/usr/bin/env bash
# Builds gVisor's runsc from its Go module and makes sure that the engine on this machine knows it by that name. `make
# test-runsc` calls this first. The engine is told to reload its settings, and keeps its containers running.
#
# A runsc that was built before is used again; it is kept next to Go's own cache. These variables, with their defaults in
# brackets, are for engines in unusual places:
#
#	AGENT_RUNSC_CACHE     where the program is kept     [next to Go's cache]
#	AGENT_ENGINE_CONFIG   the engine's settings         [/etc/docker/daemon.json]
#	AGENT_ENGINE_STATE    where it keeps its pid file   [/var/run]
set -euo pipefail
# On the module's branch go, the only one that the go command can build.
version=v0.0.0-20260224225140-573d5e7127a8
config=${AGENT_ENGINE_CONFIG:-/etc/docker/daemon.json}
state=${AGENT_ENGINE_STATE:-/var/run}
say() { echo "runsc: $*" >&2; }

# known reports whether the engine has the runtime.
known() {
	docker info --format '{{range $name, $_ := .Runtimes}}{{println $name}}{{end}}' | grep -qx runsc
}

cache=${AGENT_RUNSC_CACHE:-$(dirname "$(go env GOCACHE)")/agent-runsc}
runsc=$cache/runsc-$version
if [ ! -x "$runsc" ]; then
	# A directory of its own, so that an interrupted build leaves nothing that looks like a program. With cgo, runsc would
	# link libraries that the sandbox it makes for itself does not have.
	say "building $version, some two minutes on two cores"
	mkdir -p "$cache"
	build=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$build"' EXIT
	CGO_ENABLED=0 GOBIN=$build GOFLAGS='' go install -trimpath -ldflags '-s -w' "gvisor.dev/gvisor/runsc@$version" >&2
	mv "$build/runsc" "$runsc"
fi

if known; then
	say "the engine has it"
	exit
fi
pid=$(cat "$state/docker.pid" 2>/dev/null || true)
if [[ ${DOCKER_HOST:-unix://} != unix://* ]] || [ "$(id -u)" != 0 ] || [ "$(cat "/proc/${pid:-none}/comm" 2>/dev/null)" != dockerd ]; then
	say "no engine of this machine that may be told: copy $runsc to the engine's machine, name it under runtimes in"
	say "its daemon.json, with the path and \"runtimeArgs\": [\"--oci-seccomp\"], and send dockerd the signal HUP"
	exit 3
fi
command -v python3 >/dev/null || { say "python3 is missing: install it"; exit 3; }
# Add it to what the file says already, and replace the file in one step.
python3 - "$config" "$runsc" <<'PYTHON'
import json, os, sys

path, runsc = sys.argv[1:]
settings = {}
if os.path.exists(path):
    with open(path) as f:
        settings = json.loads(f.read() or "{}")
# The box's own filter of system calls, which runsc leaves out otherwise.
settings.setdefault("runtimes", {})["runsc"] = {"path": runsc, "runtimeArgs": ["--oci-seccomp"]}
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path + ".agent", "w") as f:
    json.dump(settings, f, indent=2)
    f.write("\n")
os.replace(path + ".agent", path)
PYTHON
say "named in $config; telling the engine ($pid)"
kill -HUP "$pid"
for _ in $(seq 100); do
	if known; then
		exit
	fi
	sleep 0.1
done
say "the engine does not take it: see its log, and correct $config"
exit 3
