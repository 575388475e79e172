// Package crashtest runs a program under ptrace. It kills the program at any of its changes to
// files, or makes any of its system calls on files fail.
//
// # Overview
//
// Run starts a command and passes a Judge every system call that changes or reads files below a
// directory: writes, truncations, syncs, creation and removal of names. The Judge lets the call
// pass, kills the program before it, makes it fail with an error, or shortens a write. The program
// is tested unmodified, whether Go or C code writes the file. A Disk replays the recorded events:
// every prefix of the changes, also without the writes that were not synced yet, as after a power
// failure.
//
// # Systems
//
// Run needs Linux on amd64 and permission for ptrace. Elsewhere it returns errors.ErrUnsupported.
package crashtest
