#!/usr/bin/env bash
# The package of Debian in a fresh container: installed, used, removed, and nothing is left. Arguments: the package, and an image
# of Debian that no registry is needed for: the one that the toolchain stands on.
set -euo pipefail
package=$(realpath "$1")
image=$2
docker run --rm -i --network none --user 0 --entrypoint /bin/sh "$image" -euxc '
	cat > /tmp/agent.deb
	list() { find / -xdev \( -path /proc -o -path /sys -o -path /var/lib/dpkg -o -path /var/log -o -path /tmp -o -path /var/cache \) -prune -o -print | sort; }
	list > /tmp/before
	# The image leaves manual pages out; a machine that people use has them.
	dpkg -i --path-include=/usr/share/man/* /tmp/agent.deb
	export HOME=/tmp/home && mkdir -p $HOME /tmp/work && cd /tmp/work
	agent --version
	agent --help > /tmp/help && grep -q "prove a patch" /tmp/help
	test -s /usr/share/bash-completion/completions/agent
	test -s /usr/share/zsh/vendor-completions/_agent
	test -s /usr/share/fish/vendor_completions.d/agent.fish
	test -s /usr/share/man/man1/agent.1.gz
	test -s /usr/share/man/man1/agent-sandbox-run.1.gz
	test -s /usr/share/man/man7/agent-gates.7.gz
	agent init --yes > /tmp/init && cat /tmp/init && grep -q "start an engine" /tmp/init
	! agent doctor > /tmp/doctor 2>&1
	grep -q "^miss engine" /tmp/doctor
	agent uninstall --all --yes
	dpkg -P agent
	list > /tmp/after
	diff /tmp/before /tmp/after
	test -z "$(find /tmp/home -type f)"
' <"$package"
echo "package: installed, used, removed, nothing left"
