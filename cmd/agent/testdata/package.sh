#!/usr/bin/env bash
# Installs, uses and removes the Debian package in fresh containers, and checks that nothing is left. Arguments: the package, a
# Debian image that needs no registry (the base of the toolchain), and the agent from which the package is made.
set -euo pipefail
package=$(realpath "$1")
base=$2
agent=$(realpath "$3")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Both containers install the package, remove it at the end, and compare the files of the machine before and after.
# shellcheck disable=SC2016
begin='
	list() { find / -xdev \( -path /proc -o -path /sys -o -path /var/lib/dpkg -o -path /var/log -o -path /tmp -o -path /var/cache \) -prune -o -print | sort; }
	list > /tmp/before
	# The image leaves manual pages out; a machine that people use has them.
	dpkg -i --path-include=/usr/share/man/* /package.deb
	export HOME=/tmp/home && mkdir -p $HOME /tmp/work && cd /tmp/work
'
# shellcheck disable=SC2016
end='
	agent uninstall --all --yes
	dpkg -P agent
	list > /tmp/after
	diff /tmp/before /tmp/after
	test -z "$(find /tmp/home -type f)"
'

echo '== no engine: what is installed, and that the lack is said'
docker run --rm -i --network none --user 0 -v "$package:/package.deb:ro" --entrypoint /bin/sh "$base" -euxc "$begin"'
	agent --version
	agent --help | grep -q "prove a patch"
	test -s /usr/share/bash-completion/completions/agent
	test -s /usr/share/zsh/vendor-completions/_agent
	test -s /usr/share/fish/vendor_completions.d/agent.fish
	test -s /usr/share/man/man1/agent.1.gz
	test -s /usr/share/man/man1/agent-sandbox-run.1.gz
	test -s /usr/share/man/man7/agent-gates.7.gz
	agent init --yes | tee /tmp/init
	grep -q "start an engine" /tmp/init
	! agent doctor > /tmp/doctor 2>&1
	grep -q "^miss engine" /tmp/doctor
'"$end"

echo '== an engine of its own: a run'
# The images come from the first engine, so that nothing is fetched.
names=$("$agent" images list --json --jq '.[].ref')
work=$(mktemp -d /tmp/agent-package-XXXXXX)
trap 'bash "$here/engine.sh" down "$work/engine"; rm -rf "$work"' EXIT
second=$(bash "$here/engine.sh" up "$work/engine")
# shellcheck disable=SC2086
docker save "$base" $names | docker -H "$second" load >/dev/null
export DOCKER_HOST=$second
held() { docker ps -aq; docker volume ls -q; docker network ls --format '{{.Name}}' | sort; }
held >"$work/before"
docker run --rm -i --name fresh --network host --user 0 -v "$package:/package.deb:ro" -v "$here:/testdata:ro" \
	-v "$work/engine/docker.sock:/var/run/docker.sock" --entrypoint /bin/sh "$base" -euxc "$begin"'
	cp -R /testdata/example shop
	cd shop
	agent init --yes | tee /tmp/init
	grep -q "^engine: Docker" /tmp/init
	agent doctor
	agent sandbox run /testdata/patches/good.xml --yes > /tmp/run || { cat /tmp/run; exit 1; }
	cat /tmp/run
	grep -q "^promoted" /tmp/run
	same() { diff -r -x .agent -x agent.toml /testdata/example .; }
	! same > /tmp/diff
	grep -q "tests/test_stock.py" /tmp/diff
	agent runs list | tee /tmp/runs
	grep -q "promoted  *pass" /tmp/runs
	agent undo --yes
	same
	agent uninstall --all --dry-run
'"$end"
held >"$work/after"
diff "$work/before" "$work/after"
left=$(docker images -aq --no-trunc | grep -v "^sha256:$base" || true)
[ -z "$left" ] || { docker images -a; echo 'package: images are left'; exit 1; }
echo 'package: installed, used for a run, removed, nothing left'
