#!/usr/bin/env bash
# The C compiler for macOS on x86_64. See zig.sh.
exec "$(dirname "$0")/zig.sh" x86_64-macos "$@"
