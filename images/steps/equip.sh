#!/bin/sh
# Installs packages of npm below /opt/agent, as a user that no box has, and no script of theirs is run:
#
#	equip.sh PACKAGE@VERSION…
#
# AGENT_NPM is the registry, and under /srv lie the host's certificates.
set -eu
umask 022
tmp=/opt/agent/.tmp
mkdir -p "$tmp"
export HOME="$tmp" TMPDIR="$tmp" LC_ALL=C.UTF-8 CI=true GIT_ALLOW_PROTOCOL=none
[ ! -s /srv/ca.crt ] || export NODE_EXTRA_CA_CERTS=/srv/ca.crt
/usr/bin/node /usr/lib/agent/npm/npm/bin/npm-cli.js install --prefix /opt/agent --ignore-scripts --no-audit --no-fund --no-update-notifier --no-package-lock \
	--registry "$AGENT_NPM/" --cache "$tmp/npm" --userconfig "$tmp/user.npmrc" --globalconfig "$tmp/global.npmrc" --fetch-retries 1 \
	--fetch-timeout 60000 --loglevel error -- "$@"
rm -rf "$tmp"
