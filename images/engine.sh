#!/bin/bash
# Makes sure that a Docker engine answers. `make setup` calls this first.
#
#	images/engine.sh
#
# If one already answers, this takes no time, except that as root it installs packages that are still missing. Otherwise, on a
# Debian-like system and as root, it installs Debian's docker.io and what the build of the images needs, and starts the engine,
# detached from this terminal. Elsewhere it says what to do and exits 3. It may run twice at once. These variables, with their
# defaults in brackets, are for tests and for engines in unusual places:
#
#	DOCKER_HOST           the engine is somewhere else: nothing is done here
#	AGENT_ENGINE_SOCKET   its socket                   [/var/run/docker.sock]
#	AGENT_ENGINE_STATE    where it keeps its pid files [/var/run]
#	AGENT_ENGINE_LOG      its log                      [/var/log/agent-dockerd.log]
#	AGENT_ENGINE_ARGS     more arguments for dockerd   []
#	AGENT_ENGINE_WAIT     seconds to wait for a start  [60]
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

socket=${AGENT_ENGINE_SOCKET:-/var/run/docker.sock}
state=${AGENT_ENGINE_STATE:-/var/run}
log=${AGENT_ENGINE_LOG:-/var/log/agent-dockerd.log}
read -r -a args <<<"${AGENT_ENGINE_ARGS:-}"
patience=${AGENT_ENGINE_WAIT:-60}

say() { printf 'engine: %s\n' "$*" >&2; }

# give_up says what to do, and exits with the code for trouble of the infrastructure.
give_up() {
	say "$@"
	exit 3
}

# answers reports whether the engine answers on its socket. It uses whatever program is there: on a bare Debian that is perl.
answers() {
	[ -S "$socket" ] || return 1
	if command -v curl >/dev/null; then
		[ "$(curl -s --max-time 5 --unix-socket "$socket" http://engine/_ping 2>/dev/null)" = OK ]
	elif command -v perl >/dev/null; then
		perl -MIO::Socket::UNIX -e '
			alarm 5;
			my $s = IO::Socket::UNIX->new(Peer => shift) or exit 1;
			print $s "GET /_ping HTTP/1.0\r\n\r\n";
			exit(<$s> =~ / 200 / ? 0 : 1)' "$socket"
	else
		docker -H "unix://$socket" version >/dev/null 2>&1
	fi
}

# packages lists what is still to be installed. gcc is for the race detector, docker.io is the engine, the rest is for the base image.
packages() {
	command -v dockerd >/dev/null || echo docker.io
	command -v mmdebstrap >/dev/null || echo mmdebstrap
	command -v git >/dev/null || echo git
	command -v curl >/dev/null || echo curl
	[ -e /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
	command -v gcc >/dev/null || echo gcc libc6-dev
}

install_packages() {
	local wanted
	read -r -d '' -a wanted < <(packages) || true
	[ "${#wanted[@]}" -gt 0 ] || return 0
	say "installing ${wanted[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 update >&2 9>&- || say "apt-get update had trouble; going on with the lists that are there"
	apt-get -q -y -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 --no-install-recommends install "${wanted[@]}" >&2 9>&-
}

# runs reports whether the process that a pid file names is alive and has that name. A zombie counts as dead.
runs() { # FILE NAME
	local pid
	[ -s "$1" ] || return 1
	pid=$(cat "$1")
	grep -q "^Name:[[:space:]]$2\$" "/proc/$pid/status" 2>/dev/null &&
		! grep -q '^State:[[:space:]][ZX]' "/proc/$pid/status" 2>/dev/null
}

# drop_stale_pid removes a pid file whose process has gone, or is another program by now. Otherwise the engine would refuse to
# start: "pid file found".
drop_stale_pid() { # FILE NAME
	if [ -e "$1" ] && ! runs "$1" "$2"; then
		say "removing the stale $1"
		rm -f "$1"
	fi
}

start_engine() {
	engine='' ours=''
	if [ -d /run/systemd/system ] && [ "${#args[@]}" -eq 0 ]; then
		systemctl enable --now docker >&2 9>&-
		return
	fi
	drop_stale_pid "$state/docker.pid" dockerd
	drop_stale_pid "$state/docker/containerd/containerd.pid" containerd
	if [ -s "$state/docker.pid" ]; then
		# The installation of its package may have started it.
		engine=$(cat "$state/docker.pid")
		say "dockerd runs already, as process $engine"
		return
	fi
	# Without systemd, nothing else mounts the control groups.
	if ! grep -q ' cgroup2\? ' /proc/mounts && [ -d /sys/fs/cgroup ]; then
		mount -t cgroup2 cgroup2 /sys/fs/cgroup >&2 || true
	fi
	say "starting dockerd, its log is $log"
	# The session of its own keeps it alive when this terminal closes or our process group is killed. The lock is closed, since
	# the engine would hold it forever.
	export -f say runs drop_stale_pid keep_engine
	socket=$socket state=$state setsid bash -euc 'keep_engine "$@"' keep_engine "${args[@]}" >>"$log" 2>&1 </dev/null 9>&- &
	engine=$! ours=yes
}

# keep_engine runs dockerd, and runs it again if it crashes or is killed, as systemd would: what runs in its containers is lost,
# but later work is not. If dockerd was told to end, or could not start, it is not run again.
# shellcheck disable=SC2317 # another bash calls it
keep_engine() { # ARG…
	local code dockerd='' told=''
	trap 'told=yes; kill "$dockerd" 2>/dev/null || true' TERM INT
	while [ -z "$told" ]; do
		drop_stale_pid "$state/docker.pid" dockerd
		drop_stale_pid "$state/docker/containerd/containerd.pid" containerd
		dockerd -H "unix://$socket" "$@" &
		dockerd=$! code=0
		wait "$dockerd" || code=$?
		while kill -0 "$dockerd" 2>/dev/null; do # a signal ended the wait while dockerd still takes its time
			wait "$dockerd" || true
		done
		say "dockerd ended with $code"
		# A Go program that crashes exits with 2, and a code above 128 stands for a signal.
		[ "$code" -eq 2 ] || [ "$code" -gt 128 ] || return "$code"
		sleep 1
	done
}

# await_engine waits until the engine answers or has died, or the time is up.
await_engine() {
	local deadline=$((SECONDS + patience)) told=$SECONDS
	until answers; do
		if [ -n "$engine" ] && ! kill -0 "$engine" 2>/dev/null; then
			say "dockerd ended"
			return 1
		fi
		if [ "$SECONDS" -ge "$deadline" ]; then
			say "no answer within $patience s"
			return 1
		fi
		if [ $((SECONDS - told)) -ge 5 ]; then
			told=$SECONDS
			say "waiting for the engine"
		fi
		sleep 0.2
	done
}

if [ -n "${DOCKER_HOST:-}" ]; then
	say "DOCKER_HOST is $DOCKER_HOST: not looking for an engine here (agent doctor checks that one)"
	exit 0
fi
if answers; then
	# Somebody else set up this engine. What the base image needs may still be missing: installing it is worth a try, and a failure
	# is not an error.
	if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null && [ -n "$(packages)" ]; then
		install_packages || say "not everything could be installed; make setup may say what is missing"
	fi
	exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
	if [ -S "$socket" ] && [ ! -w "$socket" ]; then
		give_up "there is an engine, but $(id -un) may not use $socket: run \`sudo usermod -aG docker $(id -un)\` and log in again"
	fi
	give_up "no Docker engine answers on $socket: start it (\`sudo systemctl start docker\`), or run \`sudo $0\` to install and start one, or set DOCKER_HOST"
fi
if ! command -v dockerd >/dev/null && ! command -v apt-get >/dev/null; then
	give_up "no Docker engine answers on $socket, and this is not a Debian-like system: install Docker from https://docs.docker.com/engine/install/ and start it, or set DOCKER_HOST"
fi

# One at a time: the second finds the engine that the first has started.
mkdir -p "$state"
exec 9>"$state/agent-engine.lock"
flock -w 600 9 || give_up "another set-up has been running for ten minutes: see what it waits for"
answers && exit 0

if command -v apt-get >/dev/null; then
	install_packages || give_up "the packages above could not be installed: see apt-get's words, then run this again"
fi
# Two attempts: after a crash, the first may find leftovers of the last engine, and clears them away.
for attempt in 1 2; do
	if start_engine && await_engine; then
		say "the engine answers on $socket"
		exit 0
	fi
	say "attempt $attempt came to nothing"
	# End an engine of ours that hangs, so that the next attempt starts afresh. Another's may only be slow.
	if [ -n "$ours" ] && kill "$engine" 2>/dev/null; then
		wait "$engine" || true
	fi
done
[ ! -f "$log" ] || tail -n 15 "$log" >&2
give_up "the engine does not start: the reason is in the lines above and in $log (or \`journalctl -u docker\`)"
