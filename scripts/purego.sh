#!/usr/bin/env bash
# purego.sh
# Builds, vets and tests with CGO_ENABLED=0 every package that does not depend on C. The tests of a
# package run if they do not depend on C either. Only packages that bind C are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

# A package depends on C if it or a dependency outside the standard library has cgo files. third_party/lib
# has none, but fails without cgo.
c=$(
    go list -deps -test -f '{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}' ./... | sed 's/ .*//' | sort -u
    go list ./third_party/lib
)

# plain reads "package dependency ..." lines and prints the packages that do not depend on C.
plain() {
    awk -v c="$c" '
        BEGIN { n = split(c, list, "\n"); for (i = 1; i <= n; i++) cgo[list[i]] = 1 }
        { ok = !($1 in cgo); for (i = 2; i <= NF; i++) if ($i in cgo) ok = 0; if (ok) print $1 }'
}

mapfile -t build < <(go list -f '{{.ImportPath}}{{range .Deps}} {{.}}{{end}}' ./... | plain)
# The test binary of a package is listed as package.test, with the dependencies of its tests.
mapfile -t test < <(go list -test -f '{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}' ./... |
    grep '^[^ ]*\.test ' | plain | sed 's/\.test$//')
((${#build[@]} && ${#test[@]})) || { echo "purego: no package without C" >&2; exit 1; }

export CGO_ENABLED=0
go build "${build[@]}"
go vet "${test[@]}"
RAPID_CHECKS=${RAPID_CHECKS:-100} scripts/test.sh "${test[@]}"
