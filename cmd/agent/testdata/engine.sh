#!/usr/bin/env bash
# Runs a second Docker engine on this machine, for tests whose objects must not be those of the machine's own engine. It has its
# own network namespace, storage, sockets and control groups, and no way out. It needs root, dockerd and iproute2.
#
#	engine.sh up DIR      starts it, and prints its DOCKER_HOST
#	engine.sh down DIR    stops it, and removes all that it held
set -euo pipefail
verb=$1
mkdir -p "$2"
dir=$(realpath "$2")
group=$(basename "$dir")
case $verb in
up)
	for program in dockerd ip unshare; do
		PATH=$PATH:/usr/sbin:/sbin command -v $program >/dev/null || { echo "engine: $program is missing: install docker.io, iproute2 and util-linux" >&2; exit 1; }
	done
	[ "$(id -u)" = 0 ] || { echo 'engine: a further engine needs root' >&2; exit 1; }
	# /etc/docker must be empty: otherwise it takes the first engine's key, and with it that engine's ID.
	# shellcheck disable=SC2016
	PATH=$PATH:/usr/sbin:/sbin setsid unshare --net --mount --propagation private bash -c \
		'ip link set lo up; mkdir -p /etc/docker; mount -t tmpfs tmpfs /etc/docker; exec dockerd "$@"' \
		dockerd -H "unix://$dir/docker.sock" --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" \
		--cgroup-parent "/$group" >"$dir/log" 2>&1 </dev/null &
	engine=$!
	export DOCKER_HOST=unix://$dir/docker.sock
	until docker version >/dev/null 2>&1; do
		kill -0 $engine 2>/dev/null || { echo 'engine: it ended; the last lines of its log:' >&2; tail -5 "$dir/log" >&2; exit 1; }
		sleep 0.2
	done
	echo "$DOCKER_HOST" ;;
down)
	if [ -s "$dir/docker.pid" ]; then
		export DOCKER_HOST=unix://$dir/docker.sock
		docker ps -aq | xargs -r docker rm -f >/dev/null
		engine=$(cat "$dir/docker.pid")
		kill "$engine"
		for _ in $(seq 100); do kill -0 "$engine" 2>/dev/null || break; sleep 0.1; done
	fi
	# Unmount what it left mounted below its own directories, deepest first, and remove its control groups.
	awk -v d="$dir/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | xargs -r -n1 umount -l
	find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
	rm -rf "$dir" ;;
*) echo 'engine: up DIR, or down DIR' >&2; exit 2 ;;
esac
