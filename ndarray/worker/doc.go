// Package worker lets a program read untrusted files in separate processes.
//
// # Overview
//
// hyperslab.Open can read an untrusted file in a worker: the program's own binary, executed again.
// A worker has limits of memory, processor time and descriptors, and, if the kernel supports them,
// Landlock and a seccomp filter. A crash, an abort or a hang of a library is then an error of one
// call. The program must call Init before anything else:
//
//	func main() {
//		worker.Init()
//		…
//	}
//
// A test binary must do so in TestMain. Without Init a file can still be opened after a check of
// its metadata, in the program's own process. Calls that require isolation return ErrUnavailable.
//
// # The idle worker
//
// Each file has its own process, which ends when the file is closed. If a program opens a second
// file within five seconds of the first, the package starts another process in advance for the next
// file. This idle worker has no data yet, and is restricted like any other worker before it
// receives a byte. There is at most one idle worker, and it waits for at most five seconds. Left
// ends it.
//
// # Signals
//
// The package catches no signals and waits only for its own workers, so the program may use signals
// and child processes freely. If the program ignores SIGCHLD, or waits for any child, a worker that
// exceeds its limit of processor time returns ErrCrashed instead of ErrLimit. Signals from a
// terminal do not reach workers.
//
// # Errors
//
// A failure of a worker is an *Error with one of the sentinels below. Errors of the libraries in a
// worker match the same sentinels as without a worker.
//
// # Systems
//
// Linux. On other systems Init does nothing, and isolation returns ErrUnavailable.
package worker
