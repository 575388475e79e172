// Package worker lets a program read untrusted files in processes of their own.
//
// # What
//
// formats.OpenUntrusted can run the C libraries in a worker: the program's own
// binary, executed again, held by limits of memory, processor time and descriptors,
// and, where the kernel has them, by Landlock and a seccomp filter. A crash, an abort
// or a hang of a library is then an error of one call. For this the program calls
// Init first of all:
//
//	func main() {
//		worker.Init()
//		…
//	}
//
// and a test binary does so in TestMain. Without it a file can still be opened after
// a check of its metadata, in the program's own process; what asks for isolation is
// ErrUnavailable.
//
// # The next one
//
// Each file has a process of its own, which ends with it. In a program that opens the
// second file within five seconds of the first, another process is started meanwhile and
// waits for the next file; it knows nothing until then, and is held as any before it sees
// a byte. One waits at a time, for five seconds. Left ends it.
//
// # Signals
//
// No signal is caught, and no child waited for but the workers, so a program may treat
// signals and children as it likes. If it ignores SIGCHLD, or waits for whatever child
// ends, a worker that met its limit of processor time is ErrCrashed instead of ErrLimit.
// Signals that a terminal sends do not reach workers.
//
// # Errors
//
// What happens to a worker is an *Error with one of the sentinels below. What the
// libraries say in a worker comes with the sentinels it has without one.
//
// # Systems
//
// Linux. Elsewhere Init does nothing, and isolation is ErrUnavailable.
package worker
