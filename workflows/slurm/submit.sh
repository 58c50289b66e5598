#!/bin/bash
# Rank a matrix on a Slurm cluster: a plan, an array of shards for each pass over the matrix, the
# ranking.
# usage: submit.sh OUT SHARDS MATRIX [options of sfs rank]
# Prints the ids of the jobs; the last is the one to wait for. Submitting again after a failure
# goes on with what is there. The plan stays in OUT.plan; remove it when the ranking is there.
# SBATCH_PARTITION, SBATCH_ACCOUNT and their like set what sbatch is asked for, PASSES how many
# arrays there are (2, which is enough for most rankings; the last job makes what is left), and
# LOGS where the logs go (OUT.logs).
set -euo pipefail

[ $# -ge 3 ] || { sed -n '4s/^# //p' "$0" >&2; exit 2; }
out=$1 shards=$2
shift 2
plan=$out.plan logs=${LOGS:-$out.logs}
step=$(dirname "$0")/rank.sbatch
mkdir -p "$logs"

submit() { # options of sbatch, --, arguments of the step
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    sbatch --parsable --kill-on-invalid-dep=yes --output="$logs/%x-%j.log" "${options[@]}" \
        "$step" "$@"
}

jobs=("$(submit --job-name=sfs-init -- init "$plan" "$@" --shards "$shards")")
for ((round = 1; round <= ${PASSES:-2}; round++)); do
    jobs+=("$(submit --job-name="sfs-run-$round" --dependency="afterok:${jobs[-1]}" \
        --array="1-$shards" -- run "$plan")")
done
jobs+=("$(submit --job-name=sfs-merge --dependency="afterok:${jobs[-1]}" \
    -- merge "$plan" --out "$out" --finish)")
echo "${jobs[@]}"
