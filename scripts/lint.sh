#!/usr/bin/env bash
# lint.sh
# Checks all Go, C and shell files of this module without running them, prints all findings, and
# fails if there are any. Installs shellcheck and clang-format as deps.sh installs its packages.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"
need shellcheck:shellcheck clang-format:clang-format

# ours NAME ... prints the files of this module with these names, without generated and third-party
# files.
ours() {
    local name names=()
    for name; do names+=(-o -name "$name"); done
    find . \( -path './.?*' -o -path ./third_party -o -path ./vendor -o -path ./dist -o -path ./bin \) -prune -o \
        -type f ! -name zz_stamp.h \( "${names[@]:1}" \) -print | sort
}

failed=()
# check NAME COMMAND ... runs a command and records a failure.
check() {
    echo "lint: $1"
    "${@:2}" || failed+=("$1")
}

formatted() {
    local files
    files=$(gofmt -l "$@")
    [[ -z $files ]] || { printf 'not formatted: %s\n' "$files"; return 1; }
}

# strict_c compiles each C file with warnings that cannot be in CGO_CFLAGS, because they would break
# the C code of the Go runtime. The libraries' headers are system headers, so their warnings are
# suppressed.
strict_c() {
    local file status=0
    for file; do
        "${CC:-gcc}" -std=c11 -fsyntax-only -Wall -Wextra -Wconversion -Werror \
            -I internal/cmem -isystem "$(library_dir)" "$file" || status=1
    done
    return "$status"
}

# workflows checks the files of the hosted CI. Its program and staticcheck are in a separate module,
# so that they are no dependencies of the library.
workflows() { go tool -modfile=scripts/tools/go.mod actionlint "$@"; }

mapfile -t go_files < <(ours '*.go')
mapfile -t c_files < <(go list -f '{{range .CFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... | sed '/^$/d')
mapfile -t c_and_h_files < <(ours '*.c' '*.h')
mapfile -t shell_files < <(ours '*.sh' | cat - <(grep -lE '^#!/usr/bin/env bash' .ci/run 2>/dev/null || true))

check gofmt formatted "${go_files[@]}"
check vet go vet ./...
mapfile -t with_invariants < <(grep -lE '^//go:build !?invariants' "${go_files[@]}" | xargs -n1 dirname | sort -u)
check "vet -tags invariants" go vet -tags invariants "${with_invariants[@]}"
check staticcheck go tool -modfile=scripts/tools/go.mod staticcheck ./...
check shellcheck shellcheck --external-sources --source-path=SCRIPTDIR "${shell_files[@]}"
check clang-format clang-format --dry-run -Werror "${c_and_h_files[@]}"
check "C warnings" strict_c "${c_files[@]}"
check "API.md" go run ./scripts/api -check
check "api/*.txt" go run ./scripts/surface -check
check "docs/metrics.txt" go run ./scripts/metrics -check
check "guards of the libraries' defects" go run ./scripts/guards -check
check actionlint workflows .github/workflows/*.yml
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
