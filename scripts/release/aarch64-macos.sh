#!/usr/bin/env bash
# The C compiler for macOS on aarch64. See zig.sh.
exec "$(dirname "$0")/zig.sh" aarch64-macos "$@"
