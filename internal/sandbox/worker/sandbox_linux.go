// Restrictions of a worker: limits, Landlock and seccomp, applied in this order.

package worker

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// hold restricts the process to the rights that it needs. A mechanism that the kernel does not
// support is missing from the Level; one that the kernel supports and refuses is an error. calls is
// the filter for a worker that only reads.
func hold(set *settings, calls program) (Level, error) {
	var l Level
	if err := limit(set); err != nil {
		return l, err
	}
	l.Rlimits = true
	var err error
	if l.Landlock, err = fence(set.Read, set.Write); err != nil {
		return l, err
	}
	// Signals that a process queues count for all processes of its user. libpsx, which the package
	// of Landlock uses, needs them, so this limit follows it. Without the queue, the signals of
	// Go's preemption and of abort are still delivered.
	if err := restrict(unix.RLIMIT_SIGPENDING, "queued signals", 0); err != nil {
		return l, err
	}
	if set.Write != "" {
		calls = assemble(true)
	}
	if l.Seccomp, err = calls.install(); err != nil {
		return l, err
	}
	return l, nil
}

func limit(set *settings) error {
	size, err := addressSpace()
	if err != nil {
		return err
	}
	longest := uint64(0)
	if set.Write != "" {
		longest = uint64(set.File) // the Go runtime ignores SIGXFSZ, so a write fails with EFBIG
	}
	threads, err := systemThreads()
	if err != nil {
		return err
	}
	for _, r := range []struct {
		what int
		name string
		max  uint64
	}{
		{unix.RLIMIT_AS, "address space", uint64(size) + uint64(set.Memory)},
		{unix.RLIMIT_NOFILE, "descriptors", uint64(set.NoFile)},
		{unix.RLIMIT_FSIZE, "file size", longest},
		{unix.RLIMIT_CORE, "core file", 0},
		// The kernel compares this limit with the threads of all processes of the user, so that it
		// only leaves the user threads to start. The host ends a worker with too many of its own.
		{unix.RLIMIT_NPROC, "threads", threads + spareThreads},
	} {
		if err := restrict(r.what, r.name, r.max); err != nil {
			return err
		}
		if r.what == unix.RLIMIT_AS {
			var is unix.Rlimit
			if err := unix.Getrlimit(r.what, &is); err != nil {
				return fmt.Errorf("limit of %s: %w", r.name, err)
			}
			// The runtime returns memory before it reaches the limit.
			debug.SetMemoryLimit(max(int64(min(is.Max, math.MaxInt64))-size, 0))
		}
	}
	return nil
}

// restrict sets a limit of the process. The environment may have set a stricter one, for example by
// ulimit, which stays in force.
func restrict(what int, name string, most uint64) error {
	var is unix.Rlimit
	if err := unix.Getrlimit(what, &is); err != nil {
		return fmt.Errorf("limit of %s: %w", name, err)
	}
	most = min(most, is.Max)
	if err := unix.Setrlimit(what, &unix.Rlimit{Cur: most, Max: most}); err != nil {
		return fmt.Errorf("limit of %s: %w", name, err)
	}
	return nil
}

// spareThreads is the number of threads that all processes of the user together may start after a
// worker, before the worker cannot start another one.
const spareThreads = 1024

// systemThreads returns the number of threads of all users, which is at least that of this user.
func systemThreads() (uint64, error) {
	b, err := os.ReadFile("/proc/loadavg") // "0.20 0.18 0.12 1/80 11206"
	if err != nil {
		return 0, err
	}
	var running, all uint64
	if fields := strings.Fields(string(b)); len(fields) > 3 {
		if _, err := fmt.Sscanf(fields[3], "%d/%d", &running, &all); err == nil {
			return all, nil
		}
	}
	return 0, fmt.Errorf("/proc/loadavg: got %q, want the number of threads in field 4", b)
}

// addressSpace returns the size of the process in bytes. The Go runtime reserves much address space
// that it does not use, so this size does not count toward the caller's limit.
func addressSpace() (int64, error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), " ")
	pages, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}

// fence restricts access to the file system and the network. Allowed are the given paths for
// reading, and the directory write for reading and writing if it is not "". It returns the version
// of Landlock that is in use, or 0.
func fence(read []string, write string) (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, nil // not built in, or not enabled: the Level shows it
	}
	// Before version 8 of Landlock each thread restricts itself after a signal, which the kernel
	// must queue. Without space in the queue the package waits for ever.
	if q := signalQueue(); abi < threadSync && q.full() {
		return 0, fmt.Errorf("landlock: no signals can be queued%s", q.text())
	}
	var rules []landlock.Rule
	for _, path := range read {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return 0, err
		case info.IsDir():
			rules = append(rules, landlock.RODirs(path))
		default:
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	if write != "" {
		rules = append(rules, landlock.RWDirs(write))
	}
	config := landlock.V7
	if newestLandlock == 1 {
		config = landlock.V1
	}
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return 0, fmt.Errorf("landlock: %w", err)
	}
	return min(int(abi), newestLandlock), nil
}

// threadSync is the first version of Landlock that restricts all threads with one system call.
const threadSync = 8

// queue is the number of signals and timers that all processes of the user have queued, and the
// maximum (RLIMIT_SIGPENDING, ulimit -i).
type queue struct {
	used, most int64
	known      bool
}

func signalQueue() (q queue) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return q
	}
	for line := range strings.Lines(string(status)) {
		if n, err := fmt.Sscanf(line, "SigQ: %d/%d", &q.used, &q.most); n == 2 && err == nil {
			q.known = true
		}
	}
	return q
}

func (q queue) full() bool { return q.known && q.used >= q.most }

func (q queue) text() string {
	if !q.full() {
		return ""
	}
	return fmt.Sprintf("; all processes of the user have queued %d signals and timers, at most %d (ulimit -i)", q.used, q.most)
}

// newestLandlock is the newest version that workers use. Only tests change it, to 1.
var newestLandlock = 7

// allowed contains the system calls that the Go runtime, libc and the C libraries make while they
// read. Those of links fail with EINVAL. All others, and those of conditional with other arguments,
// fail with ENOSYS as on a kernel without them. libc handles this error: for example it tries
// clone3, whose flags a filter cannot see, and then clone.
var allowed = []string{
	// memory and threads
	"brk", "futex", "get_robust_list", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "munmap", "rseq",
	"sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address",
	// open files, and files that may be opened
	"access", "close", "dup", "dup3", "faccessat", "faccessat2", "fadvise64", "fstat", "fstatfs", "getcwd", "getdents64", "lseek",
	"lstat", "newfstatat", "pread64", "preadv", "read", "readv", "stat", "statfs", "statx",
	// the control socket and standard error
	"recvfrom", "recvmsg", "sendmsg", "sendto", "write", "writev",
	// waiting and time
	"clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "gettimeofday",
	"nanosleep", "pipe2", "poll", "ppoll", "pselect6", "restart_syscall", "select", "time",
	// the process itself
	"exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrlimit", "getrusage", "gettid", "getuid",
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "sysinfo", "uname",
}

// links contains the system calls that read the target of a symbolic link. Landlock does not
// restrict them, so that a worker could read any link. They fail as for a file that is no link.
// libhdf5 calls realpath for the path of a descriptor, which then returns that path.
var links = []string{"readlink", "readlinkat"}

// writing contains the additional system calls of a worker that may write files. truncate is
// missing because Landlock restricts it only from version 3 on; ftruncate needs a file that is open
// for writing.
var writing = []string{
	"fallocate", "fdatasync", "fsync", "ftruncate", "mkdir", "mkdirat", "pwrite64", "pwritev", "rename", "renameat", "renameat2",
	"rmdir", "sync_file_range", "umask", "unlink", "unlinkat",
}

// conditional returns the system calls that are allowed with some arguments only. Together with
// allowed they cover restrictions that only newer versions of Landlock have: truncation (version
// 3), TCP (4), ioctl (5), signals to other processes and abstract sockets (6).
func conditional(write bool) (calls []seccomp.NameWithConditions) {
	allow := func(name string, all ...seccomp.Condition) {
		calls = append(calls, seccomp.NameWithConditions{Name: name, Conditions: all})
	}
	is := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.Equal, Value: value}
	}
	some := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: bits}
	}
	without := func(argument uint32, bits uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsNotSet, Value: bits}
	}
	allow("clone", some(0, unix.CLONE_THREAD))
	allow("tgkill", is(0, uint64(os.Getpid()))) // Go's preemption and libc's abort
	allow("prlimit64", is(0, 0), is(2, 0))      // reading its own limits
	// Not F_SETOWN, F_SETSIG and the like, which send signals, nor locks and leases, nor F_SETFL,
	// which changes the control socket and standard error.
	for _, command := range []uint64{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL} {
		allow("fcntl", is(1, command))
	}
	// An exclusive lock on a file of the host would stop its writers. libhdf5 continues without
	// a lock on the file that it writes, because ENOSYS means that the file system has none.
	for _, operation := range []uint64{unix.LOCK_SH, unix.LOCK_SH | unix.LOCK_NB, unix.LOCK_UN, unix.LOCK_UN | unix.LOCK_NB} {
		allow("flock", is(1, operation))
	}
	for name, flags := range map[string]uint32{"open": 1, "openat": 2} {
		if !write {
			allow(name, without(flags, unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC))
			continue
		}
		// O_TRUNC needs an access mode that Landlock checks.
		allow(name, without(flags, unix.O_TRUNC))
		allow(name, some(flags, unix.O_WRONLY), without(flags, unix.O_RDWR))
		allow(name, some(flags, unix.O_RDWR), without(flags, unix.O_WRONLY))
	}
	return calls
}

// A program is an assembled filter of system calls. Its code is empty if the kernel or the
// processor does not support filters.
type program struct {
	code []unix.SockFilter
	err  error
}

// assemble returns the filter of a worker that reads or, if write is set, also writes.
func assemble(write bool) program {
	if !seccomp.Supported() {
		return program{}
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return program{} // the package does not support this processor
	}
	group := seccomp.SyscallGroup{Action: seccomp.ActionAllow}
	names := allowed
	if write {
		names = slices.Concat(allowed, writing)
	}
	for _, n := range names {
		if _, known := info.SyscallNames[n]; known { // for example open and stat exist on some processors only
			group.Names = append(group.Names, n)
		}
	}
	for _, c := range conditional(write) {
		if _, known := info.SyscallNames[c.Name]; known {
			group.NamesWithCondtions = append(group.NamesWithCondtions, c)
		}
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionErrno, Syscalls: []seccomp.SyscallGroup{group}}
	list, err := policy.Assemble()
	if err != nil {
		return program{err: fmt.Errorf("seccomp: %w", err)}
	}
	// The package returns EPERM for an action without an error number.
	for i, inst := range list {
		if inst == (bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}) {
			list[i] = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
		}
	}
	raw, err := bpf.Assemble(append(noLinks(info), list...))
	if err != nil {
		return program{err: fmt.Errorf("seccomp: %w", err)}
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return program{code: code}
}

// noLinks returns the instructions before the policy that make the system calls of links fail. A
// group of the policy has no error number of its own.
func noLinks(info *arch.Info) (list []bpf.Instruction) {
	const number, machine = 0, 4 // offsets in struct seccomp_data
	for _, name := range links {
		if n, known := info.SyscallNames[name]; known { // readlink exists on some processors only
			list = append(list,
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(n | info.SeccompMask), SkipTrue: 1},
				bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)})
		}
	}
	return append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: machine, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(info.ID), SkipTrue: uint8(len(list) + 1)},
		bpf.LoadAbsolute{Off: number, Size: 4},
	}, list...)
}

// install applies the filter to all threads of the process. It returns false without an error if
// there is no filter.
func (p program) install() (bool, error) {
	if p.err != nil || len(p.code) == 0 {
		return false, p.err
	}
	prog := unix.SockFprog{Len: uint16(len(p.code)), Filter: &p.code[0]}
	if err := seccomp.SetNoNewPrivs(); err != nil {
		return false, fmt.Errorf("no_new_privs: %w", err)
	}
	// TSYNC applies the filter to all threads at once, or returns the id of a thread that cannot
	// follow.
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 || tid != 0 {
		return false, fmt.Errorf("seccomp: thread %d: %w", tid, errno)
	}
	return true, nil
}
