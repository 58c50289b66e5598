#!/bin/bash
# Rank what a configuration says, unless that is done already or still going on.
# usage: nightly.sh CONFIG OUT
# Prints nothing when all is well, so that cron mails nothing; else what was said, and why.
set -uo pipefail

[ $# = 2 ] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
config=$1 out=$2
mkdir -p "$(dirname "$out")" || exit

# one at a time: a night that is still busy with the night before leaves it alone
exec 9> "$out.lock"
flock --nonblock 9 || exit 0

rank() { # --resume goes on where a reboot or the time limit has stopped the night before
    said=$(sfs rank --config "$config" --out "$out" --resume --time-limit 6h \
        -q --log-file "$out.log" "$@" 2>&1 9>&-)
    code=$?
}

rank
[ $code != 4 ] || rank --force # the inputs are new: replace the ranking of the old ones
case $code in
    0) exit 0 ;; # done, or up to date
    130 | 137 | 143) why="stopped; the next night goes on" ;;
    3) why="bad input" ;;
    *) why="failed" ;;
esac
printf '%s\n' "$said" "sfs rank --config $config: $why (exit code $code); see $out.log"
exit "$code"
