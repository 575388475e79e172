#!/bin/bash
# Does all shards of a plan in an array of Slurm, and commits the plan afterwards:
#
#   hyperslab plan convert /data/in.h5:/x /data/out.b2nd -j 4 -o plan.json
#   ./slurm.sh submit plan.json 100
#
# "submit" starts an array of that many tasks and the commit. The memory of a task is that of the
# plan. An array with fewer tasks than shards divides the shards among its tasks. For a plan with two
# stages, start an array with "1" as second argument, and one with "2" that depends on it.
#SBATCH --job-name=hyperslab
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
#SBATCH --open-mode=append
set -euo pipefail
if [ "$1" = submit ]; then
  plan=$2
  bytes=$(sed -n 's/.*"process_memory_bytes":\([0-9]*\).*/\1/p' "$plan")
  mem=$((bytes / 1048576 + 1))M
  id=$(sbatch --parsable --mem="$mem" --array="0-$((${3:-100} - 1))" --requeue "$0" "$plan")
  exec sbatch --mem="$mem" --dependency=afterok:"$id" "$0" "$plan" commit
fi
plan=$1
case ${2:-} in
commit) exec hyperslab commit "$plan" ;;
'') exec hyperslab work "$plan" --progress none ;;
*) exec hyperslab work "$plan" --stage "$2" --progress none ;;
esac
