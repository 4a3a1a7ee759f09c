#!/bin/sh
# Installs what a workspace depends on below /deps, as a user that no box has:
#
#	dependencies.sh [KIND ROOT SETTINGS RETRY MAY]…
#
# KIND is npm, npm-unlocked, pnpm, pnpm-unlocked, yarn, pip or go, or apt or apt-standby, which are installed already. ROOT is the
# directory in the workspace. SETTINGS are options, and RETRY those of a second attempt, each from a table of the caller. The first line
# of MAY, for Node alone, says how many more attempts are allowed; the others name the requirements that may be left out, with * for any.
# /media holds the manifests and lock files in node, python and go, and /srv the host's certificates. AGENT_NPM, AGENT_PYPI and GOPROXY
# are the registries. AGENT_SCRIPTS=true lets packages run code of their own. AGENT_SECONDS bounds each run of a package manager.
#
# /deps/.report says what did not succeed at once: the number of the step, then the attempt and why, "without" and a requirement,
# "foreign", a package and the one that wants it, or "debian" and what stands in for one. A step that cannot be installed ends the script
# with a line "agent: not installed: NUMBER" and what its package manager says.
set -eu
umask 022
tmp=/deps/.tmp
mkdir -p "$tmp"
: >/deps/.report
# Nothing comes from git: a request for it fails at once, not only after a name was looked up.
export HOME="$tmp" TMPDIR="$tmp" LC_ALL=C.UTF-8 CI=true GIT_ALLOW_PROTOCOL=none
if [ -s /srv/ca.crt ]; then
	export NODE_EXTRA_CA_CERTS=/srv/ca.crt SSL_CERT_FILE=/srv/ca.crt PIP_CERT=/srv/ca.crt
fi

# answers asks a registry for anything: any answer will do. Without one it ends the script.
answers() {
	python3 -I - "$1" 2>"$tmp/said" <<'END' || {
import sys, urllib.error, urllib.request
try:
    urllib.request.urlopen(urllib.request.Request(sys.argv[1], method="HEAD"), timeout=15).close()
except urllib.error.HTTPError:
    pass
except Exception as e:
    print(e, file=sys.stderr)
    sys.exit(1)
END
		echo "agent: registry does not answer: $1" >&2
		echo "agent: not installed: $index" >&2
		cat "$tmp/said" >&2
		exit 75
	}
}

# probe asks the registry of each step first. If one does not answer, whatever was fetched would be thrown away.
probe() {
	asked=' '
	while [ $# -gt 0 ]; do
		index=$((index + 1))
		case $1 in
		apt | apt-standby) registry=off ;;
		pip) registry=$AGENT_PYPI ;;
		go) registry=${GOPROXY%%[,|]*} ;;
		*) registry=$AGENT_NPM/ ;;
		esac
		shift 5
		case $asked$registry in
		*" $registry "* | *" off" | *" direct" | *" file:"*) ;;
		*)
			answers "$registry"
			asked="$asked$registry "
			;;
		esac
	done
}

# run runs a package manager, and keeps its output and its exit status.
run() {
	code=0
	rm -f "$tmp/code"
	{ timeout -k 5 "$AGENT_SECONDS" "$@" 2>&1 || echo $? >"$tmp/code"; } | tee "$tmp/said" >&2
	[ ! -s "$tmp/code" ] || code=$(cat "$tmp/code")
	return "$code"
}

# lost reports whether a connection broke or the registry was in trouble, and the run may be tried again, after a moment: at most
# twice in all steps together. What was fetched completely is kept, except by pip, which has no cache here.
lost() {
	[ "$lost" -lt 2 ] && [ "$code" != 124 ] || return 1
	grep -qaiE 'ECONNRESET|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET_TIMEOUT|FETCH_ERROR|socket hang up|connection (reset|broken|aborted)|timed? ?out|tls handshake|unexpected eof|IncompleteRead|\bE50[0234]\b|\b50[0234] .*(error|bad gateway|unavailable)' "$tmp/said" || return 1
	lost=$((lost + 1))
	echo "agent: the connection to $registry broke: once more" >&2
	sleep "$((lost * 2))"
}

# refused ends the script with the output of the first attempt. If the package manager was killed or has no room, that is trouble
# of the machine, and the step is not named.
refused() {
	case $code in
	124) echo "agent: no end within $AGENT_SECONDS seconds" >"$tmp/said" ;;
	12[5-7] | 130 | 134 | 137 | 139 | 143) exit "$code" ;;
	esac
	if grep -qiE 'ENOSPC|EMFILE|ENOMEM|no space left on device|too many open files|cannot allocate memory' "$tmp/said"; then
		exit "$code"
	fi
	[ "$code" = 124 ] || { cp "$tmp/said" "$tmp/last" && answers "$registry" && cp "$tmp/last" "$tmp/said"; }
	[ ! -s "$tmp/first" ] || [ "$code" = 124 ] || cp "$tmp/first" "$tmp/said"
	echo "agent: not installed: $index" >&2
	# Print its complaints, not the progress before them.
	{ grep -aE '^ *(npm (error|ERR!)|error|ERROR|ERR_|\[?ERR|WARN.*ERR|go:|agent:)' "$tmp/said" || tail -n 12 "$tmp/said"; } | head -c 1500 >&2
	exit "$code"
}

# foreign leaves out what a package of the registry wants from elsewhere. npm's own log names it, and npm gets a link to an empty
# package instead, since the registry may have another package of that name, which was not asked for. It fails if there is
# nothing more to leave out.
foreign() {
	[ "$kind" = npm ] || [ "$kind" = npm-unlocked ] || return 1
	grep -qaE 'unknown git error|transport .* not allowed' "$tmp/said" || return 1
	mkdir -p "$tmp/empty"
	echo '{"name":"empty","version":"0.0.0"}' >"$tmp/empty/package.json"
	python3 -I - "$tmp" "$index" <<'END'
import glob, json, re, sys
tmp, index = sys.argv[1:]
with open("package.json") as f:
    package = json.load(f)
new = []
wanted = re.compile(r"placeDep .*? (@?[^@\s]+)@\S* OK for: (@?[^@\s]+)@\S* want: (\S*[/:]\S*)$")
for name in glob.glob(tmp + "/npm/_logs/*.log"):
    with open(name, errors="replace") as f:
        for line in f:
            m = wanted.search(line)
            if m and not re.match(r"(npm|file|link|workspace):", m[3]):
                own = package.setdefault("overrides", {}).setdefault(m[2], {})
                if isinstance(own, dict) and m[1] not in own:
                    own[m[1]] = f"file:{tmp}/empty"
                    new.append(m[1] + " " + m[2])
with open("package.json", "w") as f:
    json.dump(package, f)
with open("/deps/.report", "a") as f:
    f.write("".join(f"{index} foreign {pair}\n" for pair in new))
sys.exit(not new)
END
}

# missing leaves out a package that the registry does not have, if MAY allows it. It is removed from every list that names it and
# from the lock file. If only other packages want it, they get an empty one. missing fails if there is nothing more to leave out.
missing() {
	mkdir -p "$tmp/empty"
	echo '{"name":"empty","version":"0.0.0"}' >"$tmp/empty/package.json"
	python3 -I - "$tmp" "$index" "$may" "$kind" "$AGENT_NPM" <<'END'
import json, os, re, sys, urllib.parse
tmp, index, may, kind, registry = sys.argv[1:]
said = open(tmp + "/said", errors="replace").read()
m = re.search(r"404 +(?:The requested resource +)?'(@?[^@'\s]+)@|No matching version found for (@?[^@\s]+)@|Couldn't find (?:any versions for|package) \"(@?[^@\"]+)", said)
name = m and (m[1] or m[2] or m[3])
if not name and (m := re.search(re.escape(registry) + r"/([^\s:\"]+)[^\n]*(?:404|Not [Ff]ound)", said)):
    name = urllib.parse.unquote(m[1]).split("/-/")[0]
if not name or not {"*", name} & set(may.split("\n")[1:]):
    sys.exit(1)
def change(path, edit):
    with open(path) as f:
        doc = json.load(f)
    changed = edit(doc)
    if changed:
        with open(path, "w") as f:
            json.dump(doc, f)
    return changed
lists = "dependencies", "devDependencies", "optionalDependencies", "peerDependencies"
def unlist(doc):
    return [key for key in lists if isinstance(doc.get(key), dict) and doc[key].pop(name, None) is not None]
def replace(doc):
    # npm and yarn give the packages that want it a link to an empty one; pnpm forgets it.
    place, to = {"pnpm": ("overrides", "-"), "yarn": ("resolutions", f"file:{tmp}/empty")}.get(kind.split("-")[0], ("overrides", f"file:{tmp}/empty"))
    given = (doc.setdefault("pnpm", {}) if kind.startswith("pnpm") else doc).setdefault(place, {})
    return name not in given and not given.update({name: to})
def unlock(doc):
    places = doc.get("packages", {})
    gone = [p for p in places if re.search(rf"(^|/)node_modules/{re.escape(name)}(/|$)", p)]
    for place in gone:
        del places[place]
    return [p for p in places.values() if isinstance(p, dict) and unlist(p)] + gone
done = []
for top, dirs, files in os.walk("."):
    dirs[:] = [d for d in dirs if d != "node_modules"]
    if "package.json" in files:
        done += change(os.path.join(top, "package.json"), unlist)
if not done and not change("package.json", replace):
    sys.exit(1)
if os.path.exists("package-lock.json"):
    change("package-lock.json", unlock)
if done and os.path.exists("pnpm-lock.yaml"):
    # The requests come before the packages, and a package that is not requested is not installed.
    with open("pnpm-lock.yaml") as f:
        asked, mark, rest = f.read().partition("\npackages:")
    asked = re.sub(rf"(?m)^( +)(['\"]?){re.escape(name)}\2:.*\n(?:\1 +.*\n)*", "", asked + "\n")
    asked = re.sub(r"(?m)^( *)(?:dev|optional)?[dD]ependencies:\n(?!\1 )", "", asked)
    with open("pnpm-lock.yaml", "w") as f:
        f.write(asked[:-1] + mark + rest)
with open("/deps/.report", "a") as f:
    f.write(f"{index} without {name}\n")
END
}

# attempt runs a package manager until it succeeds: first with FIRST, then with RETRY too, then with SECOND in place of FIRST, as far
# as MAY allows and only while CONFLICT matches the reason for which it refuses.
#
#	attempt CONFLICT FIRST RETRY SECOND COMMAND…
attempt() {
	conflict=$1 first=$2 again=$3 second=$4
	shift 4
	level=0 words=$first
	rm -f "$tmp/first"
	# shellcheck disable=SC2086 # they are words of a table
	until run "$@" $words; do
		! lost || continue
		! foreign || continue
		! missing || continue
		why=$(grep -aoE "$conflict" "$tmp/said" | head -n 1) || why=
		[ -n "$why" ] || refused
		[ "$level" -gt 0 ] || { cp "$tmp/said" "$tmp/first" && reason=$why; }
		level=$((level + 1))
		[ "$level" -gt 1 ] || [ -n "$again" ] || level=2
		[ "$level" -le "$(printf '%s\n' "$may" | head -n 1)" ] || refused
		case $level in
		1) words="$first $again" ;;
		2)
			[ -n "$second" ] || refused
			words="$second $again"
			;;
		*) refused ;;
		esac
	done
	[ "$level" = 0 ] || echo "$index $level $reason" >>/deps/.report
}

lost=0
scripts=--ignore-scripts
binary=--only-binary=:all:
if [ "$AGENT_SCRIPTS" = true ]; then
	scripts=--ignore-scripts=false
	binary=--prefer-binary
fi

# npm runs an npm command. Its resolver may refuse, or npm may refuse a lock file that does not fit.
npm() {
	registry=$AGENT_NPM/
	attempt 'ERESOLVE|EUSAGE' "$1 $settings" "$retry" "$2" /usr/bin/node /usr/lib/agent/npm/npm/bin/npm-cli.js "$scripts" --no-audit --no-fund \
		--no-update-notifier --registry "$AGENT_NPM/" --cache "$tmp/npm" --userconfig "$tmp/user.npmrc" --globalconfig "$tmp/global.npmrc" \
		--fetch-retries 2 --fetch-retry-mintimeout 1000 --fetch-timeout 20000 --loglevel error
}

if [ -d /media/node ]; then
	cp -R /media/node /deps/node
	chmod -R u+w /deps/node
	# Addresses in lock files name a registry that does not exist; replace it with the user's.
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

index=-1
probe "$@"
index=-1
while [ $# -gt 0 ]; do
	index=$((index + 1))
	kind=$1 root=$2 settings=$3 retry=$4 may=$5
	shift 5
	case $kind in
	npm | npm-unlocked | pnpm | pnpm-unlocked | yarn) cd "/deps/node/$root" ;;
	esac
	case $kind in
	npm) npm ci "install $settings" ;;
	npm-unlocked) npm 'install --no-package-lock' '' ;;
	pnpm | pnpm-unlocked)
		lock=--frozen-lockfile
		[ "$kind" = pnpm ] || lock=--no-lockfile
		registry=$AGENT_NPM/
		attempt 'ERR_PNPM_(OUTDATED_LOCKFILE|LOCKFILE_[A-Z_]*|FROZEN_LOCKFILE[A-Z_]*|BROKEN_LOCKFILE|PEER_DEP_ISSUES)' "$lock $settings" '' \
			"--no-frozen-lockfile --config.strict-peer-dependencies=false $settings" \
			/usr/bin/node /usr/lib/agent/npm/pnpm/bin/pnpm.cjs install "$scripts" --registry "$AGENT_NPM/" \
			--store-dir "$tmp/pnpm" --config.manage-package-manager-versions=false --config.package-import-method=copy --reporter append-only
		;;
	yarn)
		registry=$AGENT_NPM/
		attempt 'Your lockfile needs to be updated' --frozen-lockfile '' --pure-lockfile \
			/usr/bin/node /usr/lib/agent/npm/yarn/bin/yarn.js install --ignore-engines "$scripts" --registry "$AGENT_NPM/" \
			--cache-folder "$tmp/yarn" --non-interactive --no-progress --no-default-rc
		;;
	pip)
		registry=$AGENT_PYPI
		cat /media/python/requirements.txt >"$tmp/requirements.txt"
		[ ! -f /media/python/later.txt ] || cat /media/python/later.txt >>"$tmp/requirements.txt"
		until run /usr/bin/python3 -m pip install --isolated --no-input --no-cache-dir --disable-pip-version-check --no-warn-script-location \
			--retries 1 --timeout 30 --index-url "$AGENT_PYPI" "$binary" --target /deps/python \
			--requirement "$tmp/requirements.txt" --constraint /media/python/constraints.txt; do
			! lost || continue
			# Leave out what an index cannot give, if others remain: the requirement itself, or the one that asks for it. If requirements
			# do not fit together, try without those that only definitions of tests ask for.
			python3 -I - "$tmp" "$index" "$may" <<'END' || refused
import os, re, sys
tmp, index, may = sys.argv[1:]
plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()
said = open(tmp + "/said", errors="replace").read()
m = re.search(r"satisfies the requirement ([\w.-]+)[^\n]*", said)
gone, later = set(), set()
if m and "No matching distribution found" in said:
    gone = {plain(m[1])}
    for asks in re.findall(r"\(from (?!versions)([^()]*)\)", m[0]):
        gone |= {plain(name) for name in re.findall(r"[A-Za-z0-9][\w.-]*", asks)}
elif os.path.exists("/media/python/later.txt") and re.search("ResolutionImpossible|conflicting|resolution-too-deep", said):
    later = set(open("/media/python/later.txt").read().splitlines())
lines = open(tmp + "/requirements.txt").read().splitlines()
drop = [line for line in lines if line in later or plain(re.match(r"[\w.-]+", line)[0]) in gone]
names = [line.split(" --hash=")[0] for line in drop]
if not drop or len(drop) == len(lines) or may != "*" and not set(names) <= set(may.split("\n")):
    sys.exit(1)
with open(tmp + "/requirements.txt", "w") as f:
    f.write("".join(line + "\n" for line in lines if line not in drop))
with open("/deps/.report", "a") as f:
    f.write("".join(f"{index} without {name}\n" for name in names))
END
		done
		# These would run in every interpreter, including a gate's.
		rm -rf /deps/python/sitecustomize* /deps/python/usercustomize* /deps/python/__pycache__
		;;
	apt-standby)
		# The step that installed them wrote down their names.
		found=$(cat /usr/lib/agent/standby)
		for name in $found; do
			# shellcheck disable=SC2016 # the marks are dpkg's
			state=$(dpkg-query -W -f '${Status} ${Version}' "$name" 2>/dev/null) || continue
			[ "$state" != "${state#install ok installed }" ] || continue
			echo "$index debian $name ${state#install ok installed }" >>/deps/.report
		done
		;;
	go)
		[ -d "$tmp/go" ] || cp -R /media/go "$tmp/go"
		chmod -R u+w "$tmp/go"
		cd "$tmp/go/$root"
		work=off
		[ ! -f go.work ] || work=
		export GOMODCACHE=/deps/go GOPATH="$tmp/gopath" GOCACHE="$tmp/gocache" GOTOOLCHAIN=local GOFLAGS=-modcacherw GOWORK="$work" CGO_ENABLED=0
		registry=${GOPROXY%%[,|]*}
		case $registry in
		http*) ;;
		*) answers() { :; } ;;
		esac
		# Otherwise a process for Go's telemetry lives on, and may make files while they are removed.
		mkdir -p "$tmp/.config/go/telemetry"
		echo off >"$tmp/.config/go/telemetry/mode"
		until run /usr/lib/go-1.26/bin/go mod download; do
			lost || refused
		done
		find /deps/go/cache/download -name '*.zip' -delete
		;;
	esac
done

if [ -d /deps/node ]; then
	# A package of the workspace itself is a link to where a box has the workspace, and every place that a workspace links to exists.
	# Tools that keep files there do so in the box: Vite's translated settings where they find what they import, caches in /tmp.
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
# For the users of boxes: a package's own script may have made files for their owner alone.
chmod -R a+rX /deps
