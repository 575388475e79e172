#!/usr/bin/env bash
# image.sh [VERSION]
# Builds the images hyperslab-deps (a builder for Go services that use Hyperslab) and hyperslab (the
# command) from the Dockerfile, with the first of docker, podman and buildah that works. With VERSION
# it builds hyperslab only, from the archive of that release in dist.
# Environment: GO_IMAGE, RUN_IMAGE, the base images (see the Dockerfile); TAG, by default the
# version.
set -euo pipefail
here=$(dirname "$0")
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"

# engine prints the first container engine that works.
engine() {
    local name
    for name in docker podman buildah; do
        if command -v "$name" >/dev/null && "$name" info >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
}

engine=$(engine)
[[ $engine ]] || die "no working docker, podman or buildah here; make fresh runs the same steps in bare Debian systems"
version=$("$here/version.sh")
tag=${TAG:-$version}
arguments=(--build-arg VERSION="$version") # git is not in the image
[[ $engine != buildah ]] || arguments+=(--layers) # as the other two do: nothing is built twice
for name in GO_IMAGE RUN_IMAGE; do
    [[ -z ${!name:-} ]] || arguments+=(--build-arg "$name=${!name}")
done
stages=(deps cli)
if [[ ${1:-} ]]; then
    [[ -d $root/dist/$1 ]] || die "no release $1 in dist; run: make release VERSION=$1"
    stages=(released) tag=${TAG:-$1}
    arguments+=(--build-arg VERSION="$1")
fi
for stage in "${stages[@]}"; do
    image=hyperslab$([[ $stage != deps ]] || echo -deps):$tag
    say "building $image with $engine"
    "$engine" build "${arguments[@]}" --target "$stage" --tag "$image" "$root"
done
