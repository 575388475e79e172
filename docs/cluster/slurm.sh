#!/bin/bash
# Does all shards of a plan in an array of Slurm, and commits the plan afterwards:
#
#   hyperslab plan convert /data/in.h5:/x /data/out.b2nd -j 4 -o plan.json
#   id=$(sbatch --parsable --array=0-99 --requeue slurm.sh plan.json)
#   sbatch --dependency=afterok:"$id" slurm.sh plan.json commit
#
# An array with fewer tasks than shards divides the shards among its tasks. For a plan with two
# stages, start an array with "1" as second argument, and one with "2" that depends on it.
#SBATCH --job-name=hyperslab
#SBATCH --cpus-per-task=4
#SBATCH --mem=512M
#SBATCH --time=04:00:00
#SBATCH --open-mode=append
set -euo pipefail
plan=$1
case ${2:-} in
commit) exec hyperslab commit "$plan" ;;
'') exec hyperslab work "$plan" --progress none ;;
*) exec hyperslab work "$plan" --stage "$2" --progress none ;;
esac
