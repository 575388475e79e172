// What holds a worker: limits, Landlock, seccomp, in this order.

package worker

import (
	"fmt"
	"os"
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

// hold takes from the process what it does not need. What the kernel lacks is
// missing from the Level; what the kernel has and refuses is an error.
func hold(set *settings) (Level, error) {
	var l Level
	if err := limit(set); err != nil {
		return l, err
	}
	l.Rlimits = true
	var err error
	if l.Landlock, err = fence(set.Read, set.Write); err != nil {
		return l, err
	}
	if l.Seccomp, err = filter(set.Write != ""); err != nil {
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
		longest = uint64(set.File) // the Go runtime leaves SIGXFSZ alone: a write fails with EFBIG
	}
	for _, r := range []struct {
		what int
		name string
		max  uint64
	}{
		{unix.RLIMIT_AS, "address space", uint64(size + set.Memory)},
		{unix.RLIMIT_NOFILE, "descriptors", uint64(fdFiles + set.Files + set.NoFile)},
		{unix.RLIMIT_FSIZE, "file size", longest},
		{unix.RLIMIT_CORE, "core file", 0},
	} {
		if err := unix.Setrlimit(r.what, &unix.Rlimit{Cur: r.max, Max: r.max}); err != nil {
			return fmt.Errorf("limit of %s: %w", r.name, err)
		}
	}
	return nil
}

// addressSpace reads the size of the process in bytes: what the Go runtime has
// reserved is much, is not used, and does not count against the caller's limit.
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

// fence leaves the process the given paths, for reading, the directory write, if it is
// not "", and nothing else of the file system or the network. It returns the kernel's
// version of Landlock.
func fence(read []string, write string) (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, nil // not built in, or not enabled: the Level says so
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
	if err := landlock.V7.BestEffort().Restrict(rules...); err != nil {
		return 0, fmt.Errorf("landlock: %w", err)
	}
	return int(abi), nil
}

// allowed are the system calls that the Go runtime, libc and the C libraries make
// while they read; clone is allowed for threads only. All others fail as on a
// kernel without them (ENOSYS), which libc takes well: it tries clone3 first, whose
// flags a filter cannot see, and then clone.
var allowed = []string{
	// memory and threads
	"brk", "futex", "get_robust_list", "madvise", "membarrier", "mincore", "mmap", "mprotect", "mremap", "munmap", "rseq",
	"sched_getaffinity", "sched_yield", "set_robust_list", "set_tid_address",
	// files that are open, or may be opened
	"access", "close", "dup", "dup3", "faccessat", "faccessat2", "fadvise64", "fcntl", "flock", "fstat", "fstatfs", "getcwd", "getdents64", "lseek",
	"lstat", "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "read", "readlink", "readlinkat", "readv", "stat", "statfs", "statx",
	// the control socket and standard error
	"recvfrom", "recvmsg", "sendmsg", "sendto", "write", "writev",
	// waiting and time
	"clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "gettimeofday",
	"nanosleep", "pipe2", "poll", "ppoll", "pselect6", "restart_syscall", "select", "time", "timer_create", "timer_delete", "timer_settime",
	// oneself
	"exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrlimit", "getrusage", "gettid", "getuid",
	"prlimit64", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "setrlimit", "sigaltstack", "sysinfo", "tgkill", "uname",
}

// writing are those that a worker needs beside them where it may write files.
var writing = []string{
	"fallocate", "fdatasync", "fsync", "ftruncate", "mkdir", "mkdirat", "pwrite64", "pwritev", "rename", "renameat", "renameat2",
	"rmdir", "sync_file_range", "truncate", "umask", "unlink", "unlinkat",
}

// filter installs the filter of system calls; false without an error where the
// kernel or the processor is not known to have it.
func filter(write bool) (bool, error) {
	if !seccomp.Supported() {
		return false, nil
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return false, nil // a processor the filter's author does not know
	}
	calls := allowed
	if write {
		calls = slices.Concat(allowed, writing)
	}
	var names []string
	for _, n := range calls {
		if _, known := info.SyscallNames[n]; known { // open, stat and the like are not everywhere
			names = append(names, n)
		}
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionErrno,
		Syscalls: []seccomp.SyscallGroup{{
			Action: seccomp.ActionAllow,
			Names:  names,
			NamesWithCondtions: []seccomp.NameWithConditions{{
				Name:       "clone",
				Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: unix.CLONE_THREAD}},
			}},
		}},
	}
	program, err := policy.Assemble()
	if err != nil {
		return false, fmt.Errorf("seccomp: %w", err)
	}
	// The policy's only error number is EPERM.
	for i, inst := range program {
		if inst == (bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}) {
			program[i] = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
		}
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return false, fmt.Errorf("seccomp: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := seccomp.SetNoNewPrivs(); err != nil {
		return false, fmt.Errorf("no_new_privs: %w", err)
	}
	// TSYNC: all threads at once, or a thread's id if one would not follow.
	tid, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 || tid != 0 {
		return false, fmt.Errorf("seccomp: thread %d: %w", tid, errno)
	}
	return true, nil
}
