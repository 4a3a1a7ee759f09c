#!/usr/bin/env bash
# Shows the main job on a copy of the example workspace: a good patch is promoted, and a patch that breaks a caller in another
# file is refused. The record answers questions about both. The first patch is replayed from the record and taken back.
# Argument: the agent program.
set -euo pipefail
agent=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$here/example" "$work/shop"
bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

say "What the workspace holds"
"$agent" analyze --workspace "$work/shop" >"$work/analysis.md"
sed -n 1,12p "$work/analysis.md"

say "A good patch: stop taking more than there is, with a test"
"$agent" sandbox run --workspace "$work/shop" --patch "$here/patches/good.xml" --yes

say "Which run put which line there"
"$agent" blame --workspace "$work/shop" shop/stock.py | tail -8

say "A patch that looks right and breaks a caller in another file"
before=$(cd "$work/shop" && find . -type f -exec sha256sum {} + | sort | sha256sum)
code=0
"$agent" sandbox run --workspace "$work/shop" --patch "$here/patches/breaks-caller.xml" --yes || code=$?
after=$(cd "$work/shop" && find . -type f -exec sha256sum {} + | sort | sha256sum)
[ "$code" = 1 ] || { echo "demo: the patch was to be refused with exit code 1, not $code"; exit 1; }
[ "$before" = "$after" ] || { echo "demo: the refused patch touched the workspace"; exit 1; }
echo "exit code $code, and the workspace is as it was, byte for byte"

say "What the record says"
"$agent" sql "select run, state, verdict, round(seconds::numeric, 1) as seconds from v_runs where workspace = '$work/shop' order by started"
"$agent" sql "select gate, verdict, findings, round(seconds::numeric, 2) as seconds from v_gates where run = (select run from v_runs where workspace = '$work/shop' order by started desc limit 1)"

say "The promoted run once more, from its record alone"
run=$("$agent" sql --csv "select run from v_runs where workspace = '$work/shop' and state = 'promoted' order by started desc limit 1" | tail -1)
"$agent" runs replay "$run"

say "Taken back"
"$agent" undo --workspace "$work/shop" "$run" --yes
diff -r --exclude .agent "$here/example" "$work/shop" || { echo "demo: the undone patch left something behind"; exit 1; }

say "Every view answers: how many rows"
for view in $("$agent" sql --csv "select viewname from pg_views where schemaname = current_schema() order by 1" | tail -n +2); do
	printf '%-22s %6s\n' "$view" "$("$agent" sql --csv "select count(*) from $view" | tail -1)"
done | paste - - -
