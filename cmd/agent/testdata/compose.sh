#!/usr/bin/env bash
# Runs compose.yaml with Docker Compose itself, built from its module. The agent in an image of this tree and the program
# outside judge the same patches, and both must say the same. Argument: the agent program. Everything that it makes is
# removed at the end.
set -euo pipefail
agent=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
version=v2.29.7
sum=h1:92dZa2M71isE1Qi6D7z1i+0P1pyeyWMwrxBuRIXe52w=

work=$(mktemp -d)
export COMPOSE_PROJECT_NAME="agent-compose-$$" AGENT_SELF_TAGS="agent-compose-$$" XDG_STATE_HOME="$work/state" XDG_CONFIG_HOME="$work/config"
compose=("$work/docker-compose" --project-directory "$root" --env-file "$work/env" -f "$root/compose.yaml")
clean() {
	[ ! -x "$work/docker-compose" ] || "${compose[@]}" --profile agent down --volumes --timeout 20 || true
	docker images --quiet "$AGENT_SELF_TAGS" | sort -u | xargs --no-run-if-empty docker rmi --force >/dev/null || true
	chmod -R u+w "$work" && rm -rf "$work"
}
trap clean EXIT

echo "== Docker Compose $version"
found=$(cd "$work" && go mod download -json "github.com/docker/compose/v2@$version")
grep -qF "\"Sum\": \"$sum\"" <<<"$found" || { echo "compose: the module's sum is not $sum" >&2; exit 1; }
cp -R "$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$found")" "$work/source"
chmod -R u+w "$work/source"
(cd "$work/source" && go build -trimpath -ldflags '-s -w' -o "$work/docker-compose" ./cmd)

echo "== The image of this tree"
"$agent" self rebuild --workspace "$root" --yes --trial 0s

echo "== By compose, and by the program"
user=$(id -u)
[ "$user" != 0 ] || user=1000 # the agent in its image is not root
postgres=$("$agent" images list --json | grep -o '"agent-postgres:[0-9a-f]*"' | tr -d '"')
cat >"$work/env" <<END
AGENT_POSTGRES_IMAGE=$postgres
AGENT_IMAGE=$AGENT_SELF_TAGS:current
AGENT_UID=$user
AGENT_GID=$user
AGENT_DOCKER_GID=$(stat -c %g /var/run/docker.sock)
AGENT_WORKSPACE_DIR=$work/shop
END
chmod 711 "$work"
here="$root/cmd/agent/testdata"
# Removes what differs between runs: the run's name, times, memory use, and output.
same() { grep -vE '"(seconds|peak_bytes|output|created|at)":' "$1" | sed -E "s/$(sed -n 's/^  "run": "\(.*\)",$/\1/p' "$1")/RUN/g; s/ in [0-9.]+s//g"; }
for patch in good:0 breaks-caller:1; do
	want=${patch#*:} patch=${patch%:*}
	for by in compose program; do
		rm -rf "$work/shop"
		cp -R "$here/example" "$work/shop"
		cp "$here/patches/$patch.xml" "$work/shop/change.xml"
		code=0
		if [ "$by" = compose ]; then
			[ "$(id -u)" != 0 ] || chown -R "$user:$user" "$work/shop"
			"${compose[@]}" run --rm -T agent sandbox run --patch change.xml --yes --json >"$work/$by.json" || code=$?
		else
			(cd "$work/shop" && "$agent" sandbox run --patch change.xml --yes --json) >"$work/$by.json" || code=$?
		fi
		echo "$patch, by $by: exit code $code"
		[ "$code" = "$want" ] || { echo "compose: the exit code was to be $want" >&2; exit 1; }
		mkdir -p "$work/trees/$patch"
		cp -R "$work/shop" "$work/trees/$patch/$by"
	done
	diff <(same "$work/compose.json") <(same "$work/program.json") || { echo "compose: the documents differ" >&2; exit 1; }
	diff -r "$work/trees/$patch/compose" "$work/trees/$patch/program" || { echo "compose: the workspaces differ" >&2; exit 1; }
done
"${compose[@]}" ps
"${compose[@]}" run --rm -T agent doctor
echo "== Both say the same"
