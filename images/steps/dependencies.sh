#!/bin/sh
# Installs what a workspace depends on below /deps, as a user that no box has:
#
#	dependencies.sh KIND ROOT…
#
# KIND is npm, npm-unlocked, pnpm, pnpm-unlocked, yarn, pip or go; ROOT is the directory in the workspace. Under /media lie the
# manifests and lock files, in node, python and go, and under /srv the host's certificates. AGENT_NPM and AGENT_PYPI are the
# registries, and GOPROXY that of Go. AGENT_SCRIPTS=true lets packages run code of theirs.
set -eu
umask 022
tmp=/deps/.tmp
mkdir -p "$tmp"
export HOME="$tmp" TMPDIR="$tmp" LC_ALL=C.UTF-8 CI=true
if [ -s /srv/ca.crt ]; then
	export NODE_EXTRA_CA_CERTS=/srv/ca.crt SSL_CERT_FILE=/srv/ca.crt PIP_CERT=/srv/ca.crt
fi

# answers asks a registry for anything: every answer will do.
answers() {
	python3 -I - "$1" <<'END' || {
import sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=20).close()
except urllib.error.HTTPError:
    pass
except Exception as e:
    print(e, file=sys.stderr)
    sys.exit(1)
END
		echo "agent: registry does not answer: $1" >&2
		exit 75
	}
}

# try runs an installer; when it ends badly because its registry has gone, that is what is said.
try() {
	registry=$1
	shift
	answers "$registry"
	"$@" || {
		code=$?
		answers "$registry"
		exit "$code"
	}
}

scripts=--ignore-scripts
binary=--only-binary=:all:
if [ "$AGENT_SCRIPTS" = true ]; then
	scripts=--ignore-scripts=false
	binary=--prefer-binary
fi

npm() {
	try "$AGENT_NPM/" /usr/bin/node /usr/lib/agent/npm/npm/bin/npm-cli.js "$@" "$scripts" --no-audit --no-fund --no-update-notifier \
		--registry "$AGENT_NPM/" --cache "$tmp/npm" --userconfig "$tmp/user.npmrc" --globalconfig "$tmp/global.npmrc" --fetch-retries 1 --loglevel error
}

if [ -d /media/node ]; then
	cp -R /media/node /deps/node
	chmod -R u+w /deps/node
	# Addresses in lock files name a registry that is nowhere; the user's takes its place.
	python3 -I - "$AGENT_NPM" <<'END'
import os, sys
for top, dirs, files in os.walk("/deps/node"):
    for name in files:
        if name != "package.json":
            place = os.path.join(top, name)
            with open(place, encoding="utf-8", errors="surrogateescape") as f:
                text = f.read()
            with open(place, "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(text.replace("https://registry.invalid/", sys.argv[1] + "/"))
END
fi

while [ $# -gt 0 ]; do
	kind=$1 root=$2
	shift 2
	case $kind in
	npm | npm-unlocked | pnpm | pnpm-unlocked | yarn) cd "/deps/node/$root" ;;
	esac
	case $kind in
	npm) npm ci ;;
	npm-unlocked) npm install --no-package-lock ;;
	pnpm | pnpm-unlocked)
		lock=--frozen-lockfile
		[ "$kind" = pnpm ] || lock=--no-lockfile
		try "$AGENT_NPM/" /usr/bin/node /usr/lib/agent/npm/pnpm/bin/pnpm.cjs install "$lock" "$scripts" --registry "$AGENT_NPM/" \
			--store-dir "$tmp/pnpm" --config.manage-package-manager-versions=false --config.package-import-method=copy --reporter append-only
		;;
	yarn)
		try "$AGENT_NPM/" /usr/bin/node /usr/lib/agent/npm/yarn/bin/yarn.js install --frozen-lockfile "$scripts" --registry "$AGENT_NPM/" \
			--cache-folder "$tmp/yarn" --non-interactive --no-progress --no-default-rc
		;;
	pip)
		try "$AGENT_PYPI" /usr/bin/python3 -m pip install --isolated --no-input --no-cache-dir --disable-pip-version-check --no-warn-script-location \
			--retries 1 --timeout 30 --index-url "$AGENT_PYPI" "$binary" --target /deps/python \
			--requirement /media/python/requirements.txt --constraint /media/python/constraints.txt
		# These would run in every interpreter, also in that of a gate.
		rm -rf /deps/python/sitecustomize* /deps/python/usercustomize* /deps/python/__pycache__
		;;
	go)
		[ -d "$tmp/go" ] || cp -R /media/go "$tmp/go"
		chmod -R u+w "$tmp/go"
		cd "$tmp/go/$root"
		work=off
		[ ! -f go.work ] || work=
		export GOMODCACHE=/deps/go GOPATH="$tmp/gopath" GOCACHE="$tmp/gocache" GOTOOLCHAIN=local GOFLAGS=-modcacherw GOWORK="$work" CGO_ENABLED=0
		proxy=${GOPROXY%%[,|]*}
		case $proxy in
		http*) try "$proxy" /usr/lib/go-1.26/bin/go mod download ;;
		*) /usr/lib/go-1.26/bin/go mod download ;;
		esac
		find /deps/go/cache/download -name '*.zip' -delete
		;;
	esac
done

if [ -d /deps/node ]; then
	# A package of the workspace itself is a link to where a box has the workspace, and every place that a
	# workspace links to exists. Tools that keep something there do so in the box: Vite's translated
	# settings where they find what they import, caches in /tmp.
	python3 -I - <<'END'
import os
base = "/deps/node"
for top, dirs, files in os.walk(base):
    inside = "node_modules" in top[len(base):].split("/")
    if not inside and "package.json" in files:
        place = os.path.join(top, "node_modules")
        os.makedirs(place, exist_ok=True)
        for name, to in (".cache", "/tmp"), (".vite", "/tmp"), (".vitest", "/tmp"), (".vite-temp", "/work" + top[len(base):]):
            if not os.path.lexists(os.path.join(place, name)):
                os.symlink(to, os.path.join(place, name))
    for name in dirs + files:
        place = os.path.join(top, name)
        if inside and os.path.islink(place):
            to = os.path.realpath(place)
            if to.startswith(base + "/") and "node_modules" not in to[len(base):].split("/"):
                os.unlink(place)
                os.symlink("/work" + to[len(base):], place)
END
fi
cd /
rm -rf "$tmp"
# For the users of boxes: what a package's own script made may be meant for its owner alone.
chmod -R a+rX /deps
