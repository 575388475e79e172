// Package worker runs code that may crash in another process: the same binary,
// executed again, with little memory, little time and no rights.
//
// # What
//
// A package that wants isolation registers a Service in its init function. The
// program calls Init first in main (a test binary: in TestMain); in a worker
// Init never returns. A Client then sends requests to the service and gets its
// answers; large data pass through a window of shared memory. What happens to the
// worker (a signal, an abort, a limit, a hang) is an *Error of the one call that
// met it, and the next call gets a fresh process.
//
// # What a worker may do
//
// Limits bound its address space, its processor time, the wall time of one call
// and the descriptors; it can write no file and leaves no core. Where the kernel
// has them, Landlock leaves it nothing of the file system but the files it is given
// and the paths its Config names, for reading, and a seccomp filter leaves it the system calls that
// reading takes: no exec, no fork, no socket, no ptrace. Level reports which of
// them hold. No environment of the host goes with it.
//
// A worker whose Config names a directory to write in has the system calls for that too,
// files of bounded length, and by Landlock that one directory. What is in it afterwards
// is not to be trusted: there may be links and anything else that a directory can hold.
//
// # The spare
//
// To start a process takes longer than most small files take to read. So when workers
// begin within seconds of each other, one process waits for the next client: it has been
// started and has been told nothing. Its settings and files come over the socket, as for
// any worker, and it is held before it sees a request; it serves one client and ends with
// it. It ends after a few seconds of waiting; one that died costs only the time. Left
// ends it at once.
//
// # Trust
//
// The host treats what comes back as it treats a file: frames are bounded before
// they are read, the window is sealed so that a worker cannot cut it under the
// host's feet, and services decode answers with checks.
//
// # Concurrency
//
// A Client may be used by any number of goroutines; it makes one call at a time.
// Closing it ends the process. A host that dies takes its workers with it: a
// worker ends when its control socket does.
//
// # Signals
//
// The host's side catches no signal and waits for no process but its own, by its
// descriptor. A program may have SIGCHLD ignored, or wait for whatever child ends, as
// the first process of a container does: how a worker ended is then not known, and a
// limit of processor time that it met is ErrCrashed. A worker is in a process group
// of its own, so that an interrupt from a terminal is the program's alone.
package worker
