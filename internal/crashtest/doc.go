// Package crashtest runs a program under the eyes of the kernel's tracer, stops it at
// any of its changes to files, or makes any of its system calls fail.
//
// # What
//
// Run starts a command and shows a Judge every system call that changes or reads files
// below a directory: writes, truncations, syncs, names that come and go. The Judge lets
// it pass, kills the program before it, makes it fail with an error, or cuts a write
// short. So whatever writes, Go or C, is tested as it is. A Disk replays what was
// recorded: every prefix of the changes, or with writes missing that nothing had synced
// yet, as after a loss of power.
//
// # Systems
//
// Linux on amd64, where the tracer may be used. Elsewhere Run is errors.ErrUnsupported.
package crashtest
