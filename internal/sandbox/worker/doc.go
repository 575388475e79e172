// Package worker runs code that may crash in another process: the same binary, executed again, with
// limited memory, limited time and few rights.
//
// # Overview
//
// A package that needs isolation registers a Service in its init function. The program must call
// Init first in main (a test binary: in TestMain); in a worker Init never returns. A Client then
// sends typed requests to the service and receives its answers through a window of shared memory:
// values of any size with Ask, and elements without copies with Fill. If the worker fails (by a
// signal, an abort, a limit or a hang), the current call returns an *Error, and the next call
// starts a new process.
//
// # Errors
//
// An error of a service keeps its text, the sentinels of package errs that it wraps, and the values
// of the types that RegisterErrorTypes has registered. The names of Config replace the paths of the
// worker's descriptors in all its strings.
//
// # Rights of a worker
//
// Limits bound the worker's address space, its processor time, the wall time of one call and the
// number of descriptors. The number of its threads is limited too, and it cannot queue signals or
// create timers, which count for all processes of the user. Of the capabilities of the program it
// has at most CAP_DAC_READ_SEARCH. The worker cannot write files and leaves no core file. Its files
// are opened again for it, so that it does not share their offsets, flags and locks. If the kernel
// supports Landlock, the worker can read only the files that it receives and the paths in its
// Config. If the kernel supports seccomp, a filter allows only the system calls that reading needs:
// no exec, no fork, no socket, no ptrace, no symbolic links. Level reports which of them are
// active. The worker does not inherit the host's environment.
//
// A worker whose Config names a directory for writing may also use the system calls for that. Its
// files have a bounded length, and Landlock allows only that directory. The caller must not trust
// the content of the directory afterwards, because it may contain links and any other kind of file.
//
// # The idle worker
//
// Starting a process takes longer than reading most small files. So when workers start within
// seconds of each other, one idle process waits for the next client. It receives its settings and
// files over the socket, as any worker, and is restricted before it receives a request. It serves
// one client and ends with it. It ends after a few seconds without a client; if it died, a new
// process is started instead. Left ends it at once.
//
// # Trust
//
// The host treats the worker's output as untrusted. Frames are bounded before they are read, the
// window is sealed so that the worker cannot truncate it, and services must check the answers that
// they decode.
//
// # Concurrency
//
// A Client is safe for concurrent use and makes one call at a time. Closing it ends the process. A
// worker ends when its control socket closes, so workers end with their host.
//
// # Signals
//
// The host side catches no signals and waits only for its own processes, by their process
// descriptors. The program may ignore SIGCHLD, or wait for any child, as the first process of a
// container does. The exit status of a worker is then unknown, and exceeding the limit of processor
// time is ErrCrashed. A worker has its own process group, so that an interrupt from a terminal
// reaches only the program.
package worker
