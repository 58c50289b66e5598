#!/bin/bash
# Rank a matrix on a Slurm cluster: a plan, an array of shards for each pass over the matrix, the
# ranking.
# usage: submit.sh OUT SHARDS MATRIX [options of sfs rank]; SHARDS is 1 to 10000
# Prints the ids of the jobs; the last is the one to wait for. Submitting again after a failure
# goes on with what is there. Another result in OUT is refused (exit code 4); the option --force
# replaces it, and begins anew. The plan stays in OUT.plan; remove it when the ranking is there.
# SBATCH_PARTITION, SBATCH_ACCOUNT and their like set what sbatch is asked for, PASSES how many
# arrays there are (2, which is enough for most rankings; the last job makes what is left), and
# LOGS where the logs go (OUT.logs).
set -euo pipefail

[ $# -ge 3 ] && [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] && [ "$2" -le 10000 ] ||
    { sed -n '4s/^# //p' "$0" >&2; exit 2; }
out=$1 shards=$2
shift 2
plan=$out.plan logs=${LOGS:-$out.logs}
step=$(dirname "$0")/rank.sbatch

force=()
for word in "$@"; do
    [ "$word" != --force ] || force=(--force)
done

fingerprint() { # a record of a result, or a plan
    sed -n 's/^  "fingerprint": "\([0-9a-f]*\)",\?$/\1/p' "$1"
}

# the last job would find it out
if [ ${#force[@]} = 0 ] && [ -e "$out/run.json" ] &&
    { [ ! -e "$plan/plan.json" ] ||
        [ "$(fingerprint "$out/run.json")" != "$(fingerprint "$plan/plan.json")" ]; }; then
    echo "error: $out holds a result that is not that of $plan" >&2
    echo "  to do: give another OUT, or --force after MATRIX to replace it" >&2
    exit 4
fi
mkdir -p "$logs"
# of the job that this may be run in, and not of those that are submitted
unset SLURM_ARRAY_TASK_ID SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU

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
    -- merge "$plan" --out "$out" --finish "${force[@]}")")
echo "${jobs[@]}"
