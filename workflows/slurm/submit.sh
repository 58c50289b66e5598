#!/bin/bash
# Rank a matrix on a Slurm cluster: a plan, an array of shards for each pass over the matrix, the
# ranking.
# usage: submit.sh OUT SHARDS MATRIX [options of sfs rank]; SHARDS is 1 to 10000
# Prints the ids of the jobs; the last is the one to wait for. Submitting again after a failure
# goes on with what is there. A result in OUT, or the plan of another one (exit code 4; the option
# --force replaces both, and begins anew), wrong options, files that are not there and more than any
# node has are refused before anything is submitted; what is wrong within the files ends the first
# job, and with it the others. The plan stays in OUT.plan; remove it when the ranking is there. Logs
# are in OUT.logs.
# SBATCH_PARTITION, SBATCH_ACCOUNT, SBATCH_TIMELIMIT, SBATCH_MEM_PER_NODE and their like win over the
# #SBATCH lines of rank.sbatch. Two arrays are enough for most rankings: the last job makes what is
# left of the passes.
set -euo pipefail

[ $# -ge 3 ] && [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] && [ "$2" -le 10000 ] ||
    { sed -n '4s/^# //p' "$0" >&2; exit 2; }
out=$1 shards=$2
shift 2
plan=$out.plan logs=$out.logs
step=$(dirname "$0")/rank.sbatch

refuse() { # exit code, what is wrong, what to do
    printf 'error: %s\n  to do: %s\n' "$2" "$3" >&2
    exit "$1"
}

force=()
for word in "$@"; do
    case $word in
        --force) force=(--force) ;;
        -h | --help | --help-all) exec sfs shard init "$word" ;;
        # words of sfs shard init and merge that this script gives
        --out | --out=* | --shards | --shards=*)
            refuse 2 "the option $word is not one of MATRIX here" \
                "leave it out: OUT and SHARDS come first" ;;
    esac
done
command -v sfs > /dev/null ||
    refuse 127 "there is no sfs on the PATH" "load or activate what holds it; jobs get this PATH"

[ ! -e "$out" ] || [ -d "$out" ] || refuse 3 "$out is a file, not a folder" "give another OUT"
if [ ${#force[@]} = 0 ]; then
    for made in "$out"/{run.json,page.json,report.html,ranking.*}; do
        [ ! -e "$made" ] ||
            refuse 4 "$out holds a result" "give another OUT, or --force after MATRIX to replace it"
    done
fi

# sfs looks at the options, and whether their files are there, before it refuses a folder that holds
# no plan (4) and reads anything; with the plan that goes on, it says whether that is of these options
empty=$(mktemp -d) code=0 known=$empty right=4
[ ${#force[@]} != 0 ] || [ ! -e "$plan" ] || known=$plan right=0
said=$(sfs shard init "$known" "$@" --shards "$shards" 2>&1) || code=$?
rmdir "$empty"
[ "$code" = "$right" ] || { printf '%s\n' "$said" >&2; exit "$code"; }

# a job that no node can run may wait for ever
said=$(sbatch --test-only --array="1-$shards" "$step" 2>&1) ||
    refuse 1 "Slurm would not take the jobs: $said" \
        "give less, such as SBATCH_MEM_PER_NODE=2G, another SBATCH_PARTITION, or edit $step"

mkdir -p "$logs"
# of the job that this may be run in, and not of those that are submitted
unset SLURM_ARRAY_TASK_ID SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU

submit() { # options of sbatch, --, arguments of the step
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    sbatch --parsable --kill-on-invalid-dep=yes --output="${logs//%/%%}/%x-%j.log" \
        "${options[@]}" "$step" "$@"
}

jobs=("$(submit --job-name=sfs-init -- init "$plan" "$@" --shards "$shards")")
for round in 1 2; do
    jobs+=("$(submit --job-name="sfs-run-$round" --dependency="afterok:${jobs[-1]}" \
        --array="1-$shards" -- run "$plan")")
done
jobs+=("$(submit --job-name=sfs-merge --dependency="afterok:${jobs[-1]}" \
    -- merge "$plan" --out "$out" "${force[@]}")")
echo "${jobs[@]}"
