# shellcheck shell=bash
# pins.sh: sourced after lib.sh. Reads third_party/VERSIONS.
# shellcheck disable=SC2154 # root is lib.sh's

versions=$root/third_party/VERSIONS

# pins ARCH prints the pins as "library version arch sha256 path": the sources and the packages of one
# architecture, or of "all".
pins() { awk -v arch="$1" '!/^#/ && NF == 5 && (arch == "all" || $3 == "any" || $3 == arch)' "$versions"; }

# pin_arch prints this machine's architecture in Debian's words.
pin_arch() {
    case $(uname -m) in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) uname -m ;;
    esac
}

# verify FILE SHA256 succeeds if the file has that hash; got is then the hash found.
verify() {
    got=$(sha256sum -- "$1") && got=${got%% *} && got=${got#\\} && [[ $got == "$2" ]]
}
