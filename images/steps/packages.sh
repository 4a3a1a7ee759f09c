#!/bin/sh
# Installs Debian packages in an image that is being built:
#
#	packages.sh "PREPARE" "SUITE…" PACKAGE[=VERSION]…
#
# PREPARE is a script to run first. Each SUITE is added to the sources, on the archive that the image already uses, and provides
# only what the image's own suite does not have. A VERSION that the archive no longer has is replaced by the one that it has, and
# the script says so: a point release must not break set-up.
set -eu
prepare=$1 suites=$2
shift 2
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

sh -euc "$prepare"

# A build starts no services, and a box needs no manuals.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 0755 /usr/sbin/policy-rc.d
mkdir -p /etc/dpkg/dpkg.cfg.d
for dir in doc man info locale lintian; do
	echo "path-exclude=/usr/share/$dir/*"
done >/etc/dpkg/dpkg.cfg.d/agent

# shellcheck source=/dev/null
. /etc/os-release
release=$VERSION_CODENAME

# archive prints the address of the archive that serves the release, from either of Debian's forms of source: one-line lists and
# deb822 stanzas.
archive() {
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$list" ] || continue
		sed -e 's/\[[^]]*\]//' "$list" | awk -v r="$release" '$1 == "deb" && $3 == r { print $2; exit }'
	done
	for list in /etc/apt/sources.list.d/*.sources; do
		[ -f "$list" ] || continue
		awk -v r="$release" 'BEGIN { RS = ""; FS = "\n" } {
			uri = ""; serves = 0
			for (i = 1; i <= NF; i++) {
				n = split($i, word, /[ \t]+/)
				if (word[1] == "URIs:") uri = word[2]
				if (word[1] == "Suites:") for (j = 2; j <= n; j++) if (word[j] == r) serves = 1
			}
			if (serves && uri != "") { print uri; exit }
		}' "$list"
	done
}

if [ -n "$suites" ]; then
	uri=$(archive | head -n 1)
	if [ -z "$uri" ]; then
		echo "no source of $release in /etc/apt: where are $suites to come from?" >&2
		exit 1
	fi
	for suite in $suites; do
		echo "deb $uri $suite main"
	done >/etc/apt/sources.list.d/agent.list
	echo "APT::Default-Release \"$release\";" >/etc/apt/apt.conf.d/90agent
fi

apt-get -q -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o APT::Update::Error-Mode=any update

wanted=
for package; do
	name=${package%%=*}
	version=${package#*=}
	if [ "$name" != "$package" ] && ! apt-cache madison "$name" | awk -F ' *[|] *' '{ print $2 }' | grep -Fqx "$version"; then
		now=$(apt-cache policy "$name" | awk '$1 == "Candidate:" { print $2 }')
		echo "PIN MOVED: $package is gone from the archive, taking $name=$now" >&2
		package=$name
	fi
	wanted="$wanted $package"
done
# shellcheck disable=SC2086 # a list of words on purpose
apt-get -q -y -o Acquire::Retries=3 --no-install-recommends install $wanted

apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* /usr/sbin/policy-rc.d
# Starting a program in a box must not grant further rights.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
