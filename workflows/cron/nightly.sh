#!/bin/bash
# Rank what a configuration says, unless that is done already or still going on.
# usage: nightly.sh CONFIG OUT
# Prints nothing when all is well, so that cron mails nothing; else what was said, and why. When the
# inputs are new, it replaces a ranking of the old ones that is in OUT, but nothing else.
set -uo pipefail

[ $# = 2 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
config=$1 out=$2
mkdir -p "$(dirname "$out")" || exit

# one at a time: a night that is still busy with the night before leaves it alone
{ exec 9> "$out.lock"; } || exit 3
flock --nonblock --conflict-exit-code 75 9
case $? in
    0) ;;
    75) exit 0 ;;
    *) echo "nightly.sh: cannot lock $out.lock" >&2; exit 3 ;;
esac

rank() {
    sfs rank --config "$config" --out "$out" "$@" >> "$out.log" 2>&1 9>&-
    code=$?
}

{ : > "$out.log"; } || exit 3
rank
# the inputs are new: replace the ranking of the old ones, but not what is no result of sfs
if [ $code = 4 ] && grep --quiet '"sfs":' "$out/run.json" 2> /dev/null; then
    rank --force
fi
case $code in
    0) exit 0 ;; # done, or up to date
    4) why="$out holds other things than a ranking of sfs" ;;
    129 | 130 | 143) why="stopped; the next night ranks" ;;
    137) why="it needs more memory, or was killed: raise memory in $config, or free some" ;;
    3) why="bad input" ;;
    *) why="failed" ;;
esac
cat "$out.log"
echo "sfs rank --config $config: $why (exit code $code)"
exit "$code"
