#!/usr/bin/env bash
# cluster.sh
# Tests the runner on Apache Beam, a module of its own, on Prism, and validates the templates of
# docs/cluster: the Kubernetes jobs against their schema, in a Python environment in .nightly, and
# the script for Slurm with shellcheck.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need shellcheck:shellcheck
shellcheck docs/cluster/slurm.sh
mkdir -p .nightly
[[ -x .nightly/cluster/bin/kubernetes-validate ]] || {
    python3 -m venv .nightly/cluster
    .nightly/cluster/bin/pip install -q kubernetes-validate==1.37.0
}
.nightly/cluster/bin/kubernetes-validate --strict docs/cluster/job.yaml
go -C beam vet ./...
go -C beam test ./...
say "the Beam pipeline and the templates are valid"
