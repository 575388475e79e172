#!/usr/bin/env bash
# release.sh VERSION
# Makes a release on this machine and pushes nothing. It builds the C libraries of each platform twice
# and compares the bytes, commits them on the branch release/VERSION, sets the tag VERSION, and writes
# dist/VERSION:
#
#   hyperslab_<version>_<platform>.tar.gz  the command, with the viewer h5web, manual pages and
#                                          completions; also as .deb
#   hyperslab_<version>.cdx.json           the bill of materials (CycloneDX)
#   proxy/                                 the module, for a file server that GOPROXY names
#   NOTES.md, SHA256SUMS
#
# It refuses a dirty tree, an existing tag and a version without a section in CHANGELOG.md. Libraries of
# an earlier run stay in dist/.work and are built again only if their recipe changed. Environment:
#
#   PLATFORMS="linux_amd64 linux_arm64 windows_amd64 darwin_amd64 darwin_arm64"
#   TESTS=1    0 leaves out the tests of the platforms that this machine emulates
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
# shellcheck source=scripts/release/platforms.sh
. "$here/release/platforms.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES GNUMAKEFLAGS # of a make that called us
cd "$root"

version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || die "version: got '$version', want vX.Y.Z"
[[ -z $(git status --porcelain) ]] || die "the tree has uncommitted changes: $(git status --porcelain | head -n 1)"
! git rev-parse --verify --quiet "refs/tags/$version" >/dev/null || die "the tag $version exists"
! git rev-parse --verify --quiet "refs/heads/release/$version" >/dev/null || die "the branch release/$version exists"
! git rev-parse --verify --quiet refs/heads/release >/dev/null ||
    die "git cannot make the branch release/$version beside a branch named release: rename that branch"
notes=$(awk -v want="## $version" '/^## / { on = ($0 == want || index($0, want " ") == 1); next } on' CHANGELOG.md)
[[ $notes =~ [a-z] ]] || die "CHANGELOG.md has no section '## $version'"
go run ./scripts/surface -check || die "api/*.txt differs from the code; run make surface"
read -ra platforms <<<"${PLATFORMS:-linux_amd64 linux_arm64 windows_amd64 darwin_amd64 darwin_arm64}"
need git:git jq:jq dpkg-deb:dpkg gzip:gzip
for platform in "${platforms[@]}"; do
    setting "$platform"
    needed
done

commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
work=$root/dist/.work
out=$root/dist/$version
tree=$work/tree
mkdir -p "$work"
rm -rf "$tree" "$out"

# The libraries, twice.
for pass in 1 2; do
    for platform in "${platforms[@]}"; do
        setting "$platform"
        DEPS_PREFIX=$work/$pass/$platform DEPS_CACHE=${DEPS_CACHE:-$root/third_party/cache} DEPS_TOOLS=0 "$here/deps.sh"
    done
done
for platform in "${platforms[@]}"; do
    diff -r "$work/1/$platform/lib" "$work/2/$platform/lib" || die "$platform: two builds gave different bytes"
    say "$platform: two builds gave the same bytes"
done

# The commit. Its author and date are those of the commit that it is made from, so that it can be repeated.
git clone --quiet --shared --no-checkout "$root" "$tree"
git -C "$tree" checkout --quiet -b "release/$version" "$commit"
for platform in "${platforms[@]}"; do
    cp -R "$work/1/$platform/lib/." "$tree/third_party/lib/$platform/"
done
git -C "$tree" add --force third_party/lib
IFS=$'\t' read -r name email date < <(git log -1 --format='%an%x09%ae%x09%aI' "$commit")
export GIT_AUTHOR_NAME=$name GIT_AUTHOR_EMAIL=$email GIT_AUTHOR_DATE=$date
export GIT_COMMITTER_NAME=$name GIT_COMMITTER_EMAIL=$email GIT_COMMITTER_DATE=$date
git -C "$tree" commit --quiet --message "release: add the libraries of $version" --message "Built from $commit for ${platforms[*]}."
git -C "$tree" tag --annotate --message "Hyperslab $version" "$version"

# Tests of other platforms, by an emulator.
for platform in "${platforms[@]}"; do
    setting "$platform"
    [[ $EMULATOR && ${TESTS:-1} != 0 ]] || continue
    say "$platform: the tests, by ${EMULATOR%% *}"
    (
        unset CI HYPERSLAB_{CORPUS,PYTHON,OLD_PYTHON,BLOSC2_SRC,HDF5_SRC} # peers, which have a different platform
        cd "$tree"
        export WINE_KEEP=RAPID_CHECKS
        # Wine does not replace a file that is open, which the skipped test needs.
        HYPERSLAB_EMULATOR=$EMULATOR RAPID_CHECKS=${RAPID_CHECKS:-5} go test -exec "$EMULATOR" -timeout 30m -skip '^TestRecordsManyGoroutines$' \
            ./cblosc ./cblosc/frameio ./h5 ./h5/filter ./ndarray ./ndarray/b2nd ./ndarray/bcolz ./ndarray/hdf5 ./ndarray/npy
    )
done

# The viewer, which is part of the command but not of the commit.
"$here/web.sh"
cp -R "$root/serve/h5web/dist" "$tree/serve/h5web/dist"

# The command.
mkdir -p "$out"
variable=github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect.version
host=$(go env GOHOSTOS)_$(go env GOHOSTARCH)
setting "$host"
(cd "$tree" && go build -o "$work/native" ./cmd/hyperslab && "$work/native" man --install "$work/man")
for platform in "${platforms[@]}"; do
    setting "$platform"
    base=hyperslab_${version#v}_$platform
    rm -rf "${work:?}/root"
    at=$work/root/usr
    mkdir -p "$at/bin" "$at/share/man/man1" "$at/share/doc/hyperslab" \
        "$at/share/bash-completion/completions" "$at/share/zsh/site-functions" "$at/share/fish/vendor_completions.d"
    (cd "$tree" && go build -trimpath -buildvcs=false -ldflags "-s -w -X $variable=$version" -o "$at/bin/" ./cmd/hyperslab)
    if [[ $EMULATOR || $platform == "$host" ]]; then
        read -ra run <<<"$EMULATOR $(ls "$at"/bin/hyperslab*)" # with .exe for Windows
        "${run[@]}" version | grep -qF "$version" || die "$platform: the command does not report $version"
        rm -rf "$work/rose.b2nd" "$work/rose.h5"
        ( # relative paths, which are valid in Wine too
            cd "$tree"
            "${run[@]}" convert testdata/etopo120.h5:/ROSE ../rose.b2nd
            "${run[@]}" convert ../rose.b2nd ../rose.h5:/ROSE
            # The emulator cannot start the program again for the sandbox.
            "${run[@]}" verify ${EMULATOR:+--sandbox=false} ../rose.b2nd ../rose.h5
            "${run[@]}" diff testdata/etopo120.h5:/ROSE ../rose.h5:/ROSE
        )
    fi
    cp "$work"/man/*.1 "$at/share/man/man1/"
    gzip -n9 "$at"/share/man/man1/*.1
    "$work/native" completion bash >"$at/share/bash-completion/completions/hyperslab"
    "$work/native" completion zsh >"$at/share/zsh/site-functions/_hyperslab"
    "$work/native" completion fish >"$at/share/fish/vendor_completions.d/hyperslab.fish"
    cp "$tree"/{LICENSE,NOTICE,README.md,serve/h5web/dist/THIRD_PARTY_LICENSES.txt} "$at/share/doc/hyperslab/"
    cp "$at/share/doc/hyperslab/LICENSE" "$at/share/doc/hyperslab/copyright"
    tar --create --directory "$at" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w \
        --mtime="@$SOURCE_DATE_EPOCH" --transform "s,^\.,$base," . | gzip -n9 >"$out/$base.tar.gz"
    [[ $platform != linux_* ]] || "$here/release/deb.sh" "$work/root" "${version#v}" "${platform#linux_}" "$out/hyperslab_${version#v}_${platform#linux_}.deb"
    cp "$at"/bin/hyperslab* "$work/hyperslab_$platform"
    say "$platform: $(stat -c %s "$at"/bin/hyperslab*) bytes"
done

# The bill of materials, from the build information of a command, third_party/VERSIONS, and the
# packages of the viewer.
setting "$host"
(cd "$here/tools" && go run ./sbom -version "$version" -versions "$tree/third_party/VERSIONS" -web "$root/.web/packages.json" "$work/hyperslab_${platforms[0]}") \
    >"$out/hyperslab_${version#v}.cdx.json"

# The files of the module for a file server: Go makes them from the tag.
rm -rf "$work/modules" "$work/repository.git"
git clone --quiet --bare "$tree" "$work/repository.git"
(
    cd "$work"
    export GOMODCACHE=$work/modules GOPROXY=direct GONOSUMDB='*' GOFLAGS='-modcacherw' GOWORK=off
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_VALUE_0=https://github.com/hyperslab/hyperslab
    GIT_CONFIG_KEY_0="url.file://$work/repository.git.insteadOf" go mod download "github.com/hyperslab/hyperslab@$version"
)
mkdir -p "$out/proxy/github.com/hyperslab/hyperslab"
cp -R "$work/modules/cache/download/github.com/hyperslab/hyperslab/@v" "$out/proxy/github.com/hyperslab/hyperslab/"
rm -f "$out"/proxy/github.com/hyperslab/hyperslab/@v/*.lock
printf '%s\n' "$version" >"$out/proxy/github.com/hyperslab/hyperslab/@v/list"

printf '# Hyperslab %s\n%s\n' "$version" "$notes" >"$out/NOTES.md"
sums=$(cd "$out" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
printf '%s\n' "$sums" >"$out/SHA256SUMS"

git fetch --quiet "$tree" "release/$version:release/$version" "refs/tags/$version:refs/tags/$version"
say "made $version: branch release/$version, tag $version, $out (nothing was pushed)"
