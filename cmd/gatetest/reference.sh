#!/bin/sh
# The plain gate: git apply, the tests, and git apply -R when they fail. It runs in a container without network, which
# is given the trial's throwaway directory as a user's shell would be: nothing of it runs on this machine.
set -eu
image=$("$BATTERY_AGENT" images list --json | sed -n 's/.*"ref": "\(agent-toolchain:[^"]*\)".*/\1/p')
[ -n "$image" ] || { echo 'the toolchain image is missing: agent images build' >&2; exit 3; }
user=10001:10001
if [ "$(id -u)" = 0 ]; then chown -hR "$user" "$BATTERY_DIR"; else user=$(id -u):$(id -g); fi
name=battery-$(basename "$BATTERY_DIR" | tr -dc 'a-zA-Z0-9')
trap 'docker rm -f "$name" >/dev/null 2>&1 || true' EXIT
# shellcheck disable=SC2016 # the script is expanded in the container
timeout -s KILL 60 docker run --name "$name" --network none --user "$user" --cap-drop ALL --security-opt no-new-privileges \
	--memory 512m --memory-swap 512m --pids-limit 256 --cpus 1 --ulimit core=0 --ulimit fsize=104857600 --log-driver none --tmpfs /tmp:size=64m,exec,mode=1777 \
	--volume "$BATTERY_DIR:$BATTERY_DIR" --workdir "$BATTERY_WORKSPACE" --env AWS_SECRET_ACCESS_KEY --env BATTERY_PATCH \
	--env HOME=/tmp --env PYTHONDONTWRITEBYTECODE=1 --entrypoint sh "$image" -c '
	git apply "$BATTERY_PATCH" || exit 2
	run() { "$@" || { git apply -R "$BATTERY_PATCH"; exit 1; }; }
	if [ -d tests ]; then run python3 -m pytest -q -p no:cacheprovider; fi
	if [ -f package.json ]; then run node --test; fi
	if [ -f go.mod ]; then run env GOFLAGS=-mod=mod GOCACHE=/tmp/go go test ./...; fi'
