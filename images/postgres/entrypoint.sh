#!/bin/sh
# Starts Postgres 17 in the agent's own container, as PID 1 and as the user postgres (10002:10002). It needs no capabilities.
# The root file system may be read-only if /tmp and /run/postgresql are each a tmpfs that the user may write
# (uid=10002,gid=10002). What a caller needs to know:
#
#	/var/lib/postgresql                 the volume, which holds everything that must be kept
#	/var/lib/postgresql/data            PGDATA
#	/var/lib/postgresql/agent-password  the password, 0600, no newline at its end
#	5432                                the port, on every address of the container, scram-sha-256
#	/run/postgresql                     the socket's directory; the socket asks for no password
#	agent                               the role (a superuser) and the database
#	AGENT_POSTGRES_PASSWORD             the password at the first start; without it a random one is made
#
# It is ready when pg_isready -U agent says so. SIGINT, the image's stop signal, stops it fast; SIGTERM waits for the clients.
set -eu
umask 077
home=/var/lib/postgresql
data=$home/data
password=$home/agent-password

# Two containers on one volume do not recognise each other's postmaster.pid as alive, since each Postgres is process 1 in its
# own namespace. This lock, which every server process inherits, keeps them apart.
exec 9>"$home/agent-lock"
if ! flock -w 10 9; then
	echo "another Postgres uses this volume: stop its container first" >&2
	exit 1
fi

if [ ! -s "$password" ]; then
	if [ -n "${AGENT_POSTGRES_PASSWORD:-}" ]; then
		printf '%s' "$AGENT_POSTGRES_PASSWORD"
	else
		od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
	fi >"$password.new"
	mv "$password.new" "$password"
fi
unset AGENT_POSTGRES_PASSWORD

# The cluster is made next to its place and moved there when it is complete, so that the next start repeats one that was
# killed halfway.
if [ ! -s "$data/PG_VERSION" ]; then
	rm -rf "$data.new"
	initdb --pgdata="$data.new" --username=agent --pwfile="$password" --auth-local=trust \
		--auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8 --data-checksums
	echo 'host all all all scram-sha-256' >>"$data.new/pg_hba.conf"
	echo 'CREATE DATABASE agent;' | postgres --single -D "$data.new" postgres >/dev/null
	sync
	mv -T "$data.new" "$data"
fi

exec postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/run/postgresql
