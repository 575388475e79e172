# shellcheck shell=bash
# platforms.sh: sourced after lib.sh. Names the compiler and the emulator of each platform.
# shellcheck disable=SC2154 # root, of lib.sh

# setting PLATFORM exports what Go and deps.sh need to build for <goos>_<goarch>.
setting() {
    export GOOS=${1%_*} GOARCH=${1#*_} CGO_ENABLED=1 EMULATOR=''
    case $1 in
        "$(go env GOHOSTOS)_$(go env GOHOSTARCH)") export CC=gcc ;;
        linux_amd64) export CC=x86_64-linux-gnu-gcc EMULATOR='qemu-x86_64-static -L /usr/x86_64-linux-gnu' ;;
        linux_arm64) export CC=aarch64-linux-gnu-gcc EMULATOR='qemu-aarch64-static -L /usr/aarch64-linux-gnu' ;;
        windows_amd64) export CC=x86_64-w64-mingw32-gcc EMULATOR=$root/scripts/release/wine.sh ;;
        darwin_amd64) export CC=$root/scripts/release/x86_64-macos.sh ;; # its programs are only built
        darwin_arm64) export CC=$root/scripts/release/aarch64-macos.sh ;;
        *) die "no compiler is known for $1" ;;
    esac
}

# needed makes sure that the compiler and the emulator of the last setting are installed.
needed() {
    case $CC in
        gcc) need gcc:gcc /usr/include/stdio.h:libc6-dev ;;
        aarch64-linux-gnu-gcc)
            need "$CC:gcc-aarch64-linux-gnu" /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross qemu-aarch64-static:qemu-user-static
            ;;
        x86_64-w64-mingw32-gcc) need "$CC:gcc-mingw-w64-x86-64-win32" ;;
        *-macos.sh) "$CC" -dumpmachine >/dev/null ;; # installs itself
        x86_64-linux-gnu-gcc)
            need "$CC:gcc-x86-64-linux-gnu" /usr/x86_64-linux-gnu/include/stdio.h:libc6-dev-amd64-cross qemu-x86_64-static:qemu-user-static
            ;;
    esac
}
