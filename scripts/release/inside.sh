#!/usr/bin/env bash
# inside.sh VERSION minimal|more
# The steps of release-check.sh, in a minimal system. minimal needs Go, gcc and libc6-dev only; more also
# git, clang, musl-gcc and libhdf5-dev. Each step prints a line "step: seconds name".
set -euo pipefail
version=$1
module=github.com/hyperslab/hyperslab
here=$PWD
export GOPROXY=file://$here/proxy,file://$here/modules GONOSUMDB='*' GOSUMDB=off GOFLAGS='' GOTOOLCHAIN=local
export GOMODCACHE=/root/modules GOCACHE=/root/cache

# step NAME COMMAND ... runs a command and prints its time.
step() {
    local TIMEFORMAT="step: %0R s (%0U s of processor time)  $1"
    echo "== $1"
    time "${@:2}" || { echo "step: FAILED $1"; exit 1; }
}

# line NAME PATTERN COMMAND ... expects a failure whose output, without the lines that name a package,
# is one line that matches.
line() {
    local said
    echo "== $1"
    if said=$("${@:3}" 2>&1); then echo "step: FAILED $1: succeeded"; exit 1; fi
    said=$(grep -v '^#' <<<"$said")
    [[ $(wc -l <<<"$said") == 1 && $said =~ $2 ]] || { printf 'step: FAILED %s\n%s\n' "$1" "$said"; exit 1; }
    echo "step: ok $1: $said"
}

# program NAME makes a new module with the program of the README.
program() {
    rm -rf "${here:?}/$1" && mkdir -p "$here/$1/testdata" && cd "$here/$1"
    awk '/^```go$/ { on = 1; next } /^```$/ { if (on) exit } on' "$here/README.md" >main.go
    cp "$here/etopo120.h5" testdata/
    go mod init example.com/program 2>&1
}
required() { program "$1" && go get "$module@$version" && go mod tidy; }
runs() { go build -o program . && said=$(./program) && echo "$said" && [[ $said == '[90 180] <f4'* ]]; }

if [[ $2 == minimal ]]; then
    step "require the version through the proxy tree" required program
    step "first build and run of README's program" runs
    step "go vet" go vet ./...
    step "go mod vendor" go mod vendor
    export GOFLAGS=-mod=vendor
    step "build with -mod=vendor" runs
    export GOFLAGS=''
    rm -rf vendor
    step "go install of the command" go install "$module/cmd/hyperslab@$version"
    step "the command" bash -c "/root/go/bin/hyperslab version --libs && /root/go/bin/hyperslab ls testdata/etopo120.h5"
    line "CGO_ENABLED=0" 'undefined: hyperslab_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler' env CGO_ENABLED=0 go build .
    line "missing compiler" 'C compiler "missing-cc" not found' env CGO_ENABLED=1 CC=missing-cc go build .
    mkdir -p /root/without && ln -sf /usr/local/go/bin/go /root/without/
    line "missing compiler, cgo by default" 'undefined: hyperslab_needs_cgo__set' env PATH=/root/without go build .
    # The compiler of another platform is not here, so the type checker alone looks at the package.
    line "unsupported platform" 'undefined: hyperslab_has_no_C_libraries_for_this_platform' \
        env CGO_ENABLED=1 GOARCH=riscv64 go build "$module/third_party/lib"
    exit
fi

cd "$here/program"
step "clang" env CC=clang GOCACHE=/root/cache-clang bash -c "go build -o program . && ./program | grep -qF '[90 180] <f4'"
step "beside DataDog/zstd and gonum's hdf5" bash -c "
    cp -R '$here/beside' /root/beside && cd /root/beside &&
    go mod edit -require '$module@$version' && go mod tidy &&
    dir=\$(go list -m -f '{{.Dir}}' '$module')/third_party/lib/linux_\$(go env GOARCH) &&
    export CGO_CFLAGS=\"-O2 -I\$dir\" CGO_LDFLAGS=\"-L\$dir/gonum -L\$dir\" && go run ."

# Through git: a bare repository stands in for the host.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$here/repository.git.insteadOf"
export GIT_CONFIG_VALUE_0="https://$module"
export GOPRIVATE=$module GOMODCACHE=/root/modules-git
step "require the version through git" required program-git
step "build and run" runs
export GOMODCACHE=/root/modules

cd "$here/program"
step "static with musl" env CC=musl-gcc bash -c "
    go build -ldflags '-linkmode external -extldflags -static' -o program-musl . && ./program-musl | grep -qF '[90 180] <f4'"
