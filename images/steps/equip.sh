#!/bin/sh
# Installs npm packages below /opt/agent, as a user that no box has, and runs none of their scripts:
#
#	equip.sh PACKAGE@VERSION…
#
# AGENT_NPM is the registry, and /srv holds the host's certificates.
set -eu
umask 022
tmp=/opt/agent/.tmp
mkdir -p "$tmp"
export HOME="$tmp" TMPDIR="$tmp" LC_ALL=C.UTF-8 CI=true GIT_ALLOW_PROTOCOL=none
[ ! -s /srv/ca.crt ] || export NODE_EXTRA_CA_CERTS=/srv/ca.crt
# A broken connection is not the end: what was fetched completely by then is kept, and there are three attempts.
attempt=1
until /usr/bin/node /usr/lib/agent/npm/npm/bin/npm-cli.js install --prefix /opt/agent --ignore-scripts --no-audit --no-fund --no-update-notifier --no-package-lock \
	--registry "$AGENT_NPM/" --cache "$tmp/npm" --userconfig "$tmp/user.npmrc" --globalconfig "$tmp/global.npmrc" --fetch-retries 2 \
	--fetch-retry-mintimeout 1000 \
	--fetch-timeout 20000 --loglevel error -- "$@" 2>"$tmp/said"; do
	cat "$tmp/said" >&2
	[ "$attempt" -lt 3 ] && grep -qaiE 'ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT|timed? ?out|socket hang up' "$tmp/said" || exit 1
	attempt=$((attempt + 1))
done
rm -rf "$tmp"
