#!/bin/sh
# Starts Postgres 17 in the agent's own container, as PID 1 and as the user postgres (10002:10002). It needs no
# capability. The root file system may be read-only, with a tmpfs at /tmp and one at /run/postgresql that the
# user may write (uid=10002,gid=10002). Facts for those who start it:
#
#	/var/lib/postgresql                 the volume; keep it and everything is kept
#	/var/lib/postgresql/data            PGDATA
#	/var/lib/postgresql/agent-password  the password, 0600, no newline at its end
#	5432                                the port, on every address of the container, scram-sha-256
#	/run/postgresql                     the socket's directory; the socket asks for no password
#	agent                               the role, a superuser, and the database
#	AGENT_POSTGRES_PASSWORD             the password at the first start; without it one is made by chance
#
# Ready when pg_isready -U agent says so. SIGINT is a fast stop (the image's stop signal), SIGTERM waits for the clients.
set -eu
umask 077
home=/var/lib/postgresql
data=$home/data
password=$home/agent-password

# Two containers on one volume cannot see each other's postmaster.pid as alive, since each is process 1 in its
# own namespace; this lock, which every server process inherits, keeps them apart.
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

# The cluster is made beside its place and moved there when it is whole, so that a start which was
# killed half-way is done again by the next one.
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
