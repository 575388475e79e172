// Tests of the sandbox: programs that run inside a worker, as malicious code would, and the results
// of their system calls.

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// A target contains the objects that an attack tries to access.
type target struct {
	Host, Thread int    // process and thread ids of the host
	Given        string // file of the host that the worker got for reading
	Secret       string // file that the worker did not get
	Room         string // directory that the worker may write to, or ""
}

// ownSignal is a signal that terminates a host without a handler.
const ownSignal = unix.SIGUSR1

// call makes a system call without libc, as code in the worker could.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

func cString(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept keeps memory alive whose address is passed to the kernel as a number.
var kept [][]byte

func structAt[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// opens opens a path and returns the error, if any. It closes the file again.
func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

const at = ^uintptr(99) // AT_FDCWD

// attacks return nil if they succeed.
var attacks = map[string]func(h *handler, t target) error{
	// Limits.
	"limit the host's processor time": func(_ *handler, t target) error {
		return call(unix.SYS_PRLIMIT64, uintptr(t.Host), unix.RLIMIT_CPU, structAt(&unix.Rlimit{Cur: 0, Max: 0}))
	},
	"limit the host's descriptors": func(_ *handler, t target) error {
		return call(unix.SYS_PRLIMIT64, uintptr(t.Host), unix.RLIMIT_NOFILE, structAt(&unix.Rlimit{Cur: 3, Max: 3}))
	},
	"read the host's limits": func(_ *handler, t target) error {
		return call(unix.SYS_PRLIMIT64, uintptr(t.Host), unix.RLIMIT_CPU, 0, structAt(&unix.Rlimit{}))
	},
	"raise its own address space": func(*handler, target) error {
		return call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, structAt(&unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	},
	"raise its own processor time": func(*handler, target) error {
		return call(unix.SYS_SETRLIMIT, unix.RLIMIT_CPU, structAt(&unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}))
	},
	"queue signals again": func(*handler, target) error {
		return call(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_SIGPENDING, structAt(&unix.Rlimit{Cur: 0, Max: 0}))
	},
	"change the host's priority": func(_ *handler, t target) error {
		return call(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, uintptr(t.Host), 19)
	},
	"pin the host to a processor": func(_ *handler, t target) error {
		return call(unix.SYS_SCHED_SETAFFINITY, uintptr(t.Host), 8, structAt(new(uint64(1))))
	},

	// Signals.
	"kill":   func(_ *handler, t target) error { return call(unix.SYS_KILL, uintptr(t.Host), uintptr(ownSignal)) },
	"kill 0": func(_ *handler, t target) error { return call(unix.SYS_KILL, 0, uintptr(ownSignal)) },
	"tkill":  func(_ *handler, t target) error { return call(unix.SYS_TKILL, uintptr(t.Thread), uintptr(ownSignal)) },
	"tgkill": func(_ *handler, t target) error {
		return call(unix.SYS_TGKILL, uintptr(t.Host), uintptr(t.Thread), uintptr(ownSignal))
	},
	"tgkill with high bits": func(_ *handler, t target) error {
		return call(unix.SYS_TGKILL, uintptr(t.Host)|1<<32, uintptr(t.Thread), uintptr(ownSignal))
	},
	"rt_sigqueueinfo": func(_ *handler, t target) error {
		return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(t.Host), uintptr(ownSignal), structAt(&[128]byte{}))
	},
	"rt_tgsigqueueinfo": func(_ *handler, t target) error {
		return call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(t.Host), uintptr(t.Thread), uintptr(ownSignal), structAt(&[128]byte{}))
	},
	"pidfd_open":        func(_ *handler, t target) error { return call(unix.SYS_PIDFD_OPEN, uintptr(t.Host)) },
	"pidfd_send_signal": func(*handler, target) error { return call(unix.SYS_PIDFD_SEND_SIGNAL, 3, uintptr(ownSignal)) },
	"pidfd_getfd":       func(*handler, target) error { return call(unix.SYS_PIDFD_GETFD, 3, 1) },
	"fcntl F_SETOWN, F_SETSIG and O_ASYNC": func(_ *handler, t target) error {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return err
		}
		defer unix.Close(p[0])
		defer unix.Close(p[1])
		err := errors.Join(call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETOWN, uintptr(t.Host)),
			call(unix.SYS_FCNTL, uintptr(p[0]), 10 /* F_SETSIG */, uintptr(ownSignal)))
		call(unix.SYS_FCNTL, uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC)
		unix.Write(p[1], []byte("x"))
		return err
	},
	"fcntl F_SETOWN_EX": func(_ *handler, t target) error {
		return call(unix.SYS_FCNTL, 3, 15, structAt(&[2]int32{1, int32(t.Host)}))
	},
	"ioctl FIOSETOWN": func(_ *handler, t target) error {
		return call(unix.SYS_IOCTL, 3, 0x8901, structAt(new(int32(t.Host))))
	},
	"timer_create for a thread of the host": func(_ *handler, t target) error {
		event := [16]int32{2: int32(ownSignal), 3: 4 /* SIGEV_THREAD_ID */, 4: int32(t.Thread)}
		return call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, structAt(&event), structAt(new(int32)))
	},

	// Timers and queued signals count for all processes of the user.
	"timer_create": func(*handler, target) error {
		return call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, structAt(&[16]int32{3: 1 /* SIGEV_NONE */}), structAt(new(int32)))
	},
	"timerfd_create": func(*handler, target) error { return call(unix.SYS_TIMERFD_CREATE, unix.CLOCK_MONOTONIC, 0) },
	"setitimer": func(*handler, target) error {
		return call(unix.SYS_SETITIMER, unix.ITIMER_REAL, structAt(&[4]int64{3600, 0, 3600, 0}), 0)
	},
	"queue signals": func(*handler, target) error {
		runtime.LockOSThread() // the thread ends with its signals
		const queued = 50
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &unix.Sigset_t{Val: [16]uint64{1 << (queued - 1)}}, nil); err != nil {
			return err
		}
		return call(unix.SYS_TGKILL, uintptr(unix.Getpid()), uintptr(unix.Gettid()), queued)
	},

	// Memory and descriptors of other processes.
	"ptrace": func(_ *handler, t target) error {
		return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(t.Host))
	},
	"process_vm_readv":  func(_ *handler, t target) error { return call(unix.SYS_PROCESS_VM_READV, uintptr(t.Host)) },
	"process_vm_writev": func(_ *handler, t target) error { return call(unix.SYS_PROCESS_VM_WRITEV, uintptr(t.Host)) },
	"process_madvise":   func(*handler, target) error { return call(unix.SYS_PROCESS_MADVISE, 3) },
	"kcmp":              func(_ *handler, t target) error { return call(unix.SYS_KCMP, uintptr(t.Host), uintptr(t.Host)) },
	"open the host's memory": func(_ *handler, t target) error {
		return opens(fmt.Sprintf("/proc/%d/mem", t.Host), unix.O_RDONLY)
	},
	"open the host's environment": func(_ *handler, t target) error {
		return opens(fmt.Sprintf("/proc/%d/environ", t.Host), unix.O_RDONLY)
	},
	"open a descriptor of the host": func(_ *handler, t target) error {
		return opens(fmt.Sprintf("/proc/%d/fd/0", t.Host), unix.O_RDONLY)
	},
	"write to its own memory file": func(*handler, target) error { return opens("/proc/self/mem", unix.O_RDWR) },

	// Files.
	"open a file that it was not given": func(_ *handler, t target) error { return opens(t.Secret, unix.O_RDONLY) },
	"list the directory of its file": func(_ *handler, t target) error {
		return opens(filepath.Dir(t.Given), unix.O_RDONLY|unix.O_DIRECTORY)
	},
	"read a link": func(*handler, target) error {
		return call(unix.SYS_READLINKAT, at, cString("/proc/self/exe"), structAt(&[256]byte{}), 256)
	},
	"open its file for writing":            func(_ *handler, t target) error { return opens(t.Given, unix.O_WRONLY) },
	"open its file for both":               func(_ *handler, t target) error { return opens(t.Given, unix.O_RDWR) },
	"truncate its file by O_TRUNC":         func(_ *handler, t target) error { return opens(t.Given, unix.O_RDONLY|unix.O_TRUNC) },
	"truncate its file by O_TRUNC, mode 3": func(_ *handler, t target) error { return opens(t.Given, 3|unix.O_TRUNC) },
	"truncate its file by its path": func(_ *handler, t target) error {
		return call(unix.SYS_TRUNCATE, cString(t.Given), 0)
	},
	"truncate its file": func(h *handler, _ target) error { return call(unix.SYS_FTRUNCATE, h.s.Files[0].Fd(), 0) },
	"truncate a file that it was not given": func(_ *handler, t target) error {
		return call(unix.SYS_TRUNCATE, cString(t.Secret), 0)
	},
	"write to its file": func(h *handler, _ target) error {
		return call(unix.SYS_PWRITE64, h.s.Files[0].Fd(), cString("x"), 1, 0)
	},
	"write to its file by write": func(h *handler, _ target) error {
		return call(unix.SYS_WRITE, h.s.Files[0].Fd(), cString("x"), 1)
	},
	"map its file for writing": func(h *handler, _ target) error {
		return call(unix.SYS_MMAP, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED, h.s.Files[0].Fd(), 0)
	},
	"lock its file": func(h *handler, _ target) error {
		return call(unix.SYS_FLOCK, h.s.Files[0].Fd(), unix.LOCK_EX|unix.LOCK_NB)
	},
	"lock its file by fcntl": func(h *handler, _ target) error {
		return call(unix.SYS_FCNTL, h.s.Files[0].Fd(), unix.F_SETLK, structAt(&unix.Flock_t{Type: unix.F_RDLCK}))
	},
	"change the flags of its file": func(h *handler, _ target) error {
		return call(unix.SYS_FCNTL, h.s.Files[0].Fd(), unix.F_SETFL, unix.O_APPEND)
	},
	"change the flags of its socket": func(*handler, target) error {
		return call(unix.SYS_FCNTL, 3, unix.F_SETFL, 0)
	},
	"lease its file": func(h *handler, _ target) error {
		return call(unix.SYS_FCNTL, h.s.Files[0].Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	},
	"watch a directory": func(h *handler, _ target) error {
		return call(unix.SYS_FCNTL, h.s.Files[0].Fd(), 1026 /* F_NOTIFY */, 1)
	},
	"create a file": func(_ *handler, t target) error {
		return opens(filepath.Join(filepath.Dir(t.Secret), "new"), unix.O_WRONLY|unix.O_CREAT)
	},
	"remove a file": func(_ *handler, t target) error { return call(unix.SYS_UNLINKAT, at, cString(t.Secret), 0) },
	"rename a file": func(_ *handler, t target) error {
		return call(unix.SYS_RENAMEAT2, at, cString(t.Secret), at, cString(t.Secret+".new"), 0)
	},
	"link a file": func(_ *handler, t target) error {
		return call(unix.SYS_LINKAT, at, cString(t.Secret), at, cString(t.Secret+".new"), 0)
	},
	"link a path": func(_ *handler, t target) error {
		return call(unix.SYS_SYMLINKAT, cString(t.Secret), at, cString(t.Secret+".new"))
	},
	"make a directory": func(_ *handler, t target) error {
		return call(unix.SYS_MKDIRAT, at, cString(t.Secret+".new"), 0o777)
	},
	"make a pipe": func(_ *handler, t target) error {
		return call(unix.SYS_MKNODAT, at, cString(t.Secret+".new"), unix.S_IFIFO)
	},
	"change rights":     func(h *handler, _ target) error { return call(unix.SYS_FCHMOD, h.s.Files[0].Fd(), 0) },
	"change the owner":  func(h *handler, _ target) error { return call(unix.SYS_FCHOWN, h.s.Files[0].Fd(), 1, 1) },
	"change times":      func(_ *handler, t target) error { return call(unix.SYS_UTIMENSAT, at, cString(t.Given), 0, 0) },
	"set an attribute":  func(_ *handler, t target) error { return call(unix.SYS_SETXATTR, cString(t.Given)) },
	"open by handle":    func(*handler, target) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, at) },
	"openat2":           func(_ *handler, t target) error { return call(unix.SYS_OPENAT2, at, cString(t.Secret)) },
	"watch by inotify":  func(*handler, target) error { return call(unix.SYS_INOTIFY_INIT1) },
	"watch by fanotify": func(*handler, target) error { return call(unix.SYS_FANOTIFY_INIT) },

	// Processes, privileges and the kernel.
	"execute":       func(*handler, target) error { return call(unix.SYS_EXECVE, cString("/bin/true")) },
	"execute by fd": func(*handler, target) error { return call(unix.SYS_EXECVEAT, at, cString("/bin/true")) },
	"fork":          func(*handler, target) error { return call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
	"fork by clone3": func(*handler, target) error {
		return call(unix.SYS_CLONE3, structAt(&[11]uint64{}), 88)
	},
	"unshare":              func(*handler, target) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"setns":                func(*handler, target) error { return call(unix.SYS_SETNS, 3, 0) },
	"mount":                func(*handler, target) error { return call(unix.SYS_MOUNT, cString("x"), cString("/")) },
	"chroot":               func(*handler, target) error { return call(unix.SYS_CHROOT, cString("/")) },
	"change the directory": func(*handler, target) error { return call(unix.SYS_CHDIR, cString("/")) },
	"capget":               func(*handler, target) error { return call(unix.SYS_CAPGET, structAt(&[2]int32{0x20080522}), 0) },
	"capset": func(*handler, target) error {
		return call(unix.SYS_CAPSET, structAt(&[2]int32{0x20080522}), structAt(&[6]uint32{}))
	},
	"setuid":                  func(*handler, target) error { return call(unix.SYS_SETUID, 0) },
	"leave its process group": func(*handler, target) error { return call(unix.SYS_SETPGID, 0, 0) },
	"start a session":         func(*handler, target) error { return call(unix.SYS_SETSID) },
	"outlive its host by prctl": func(*handler, target) error {
		return call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, 0)
	},
	"bpf":             func(*handler, target) error { return call(unix.SYS_BPF) },
	"io_uring":        func(*handler, target) error { return call(unix.SYS_IO_URING_SETUP, 1) },
	"userfaultfd":     func(*handler, target) error { return call(unix.SYS_USERFAULTFD) },
	"perf_event_open": func(*handler, target) error { return call(unix.SYS_PERF_EVENT_OPEN) },
	"keyctl":          func(*handler, target) error { return call(unix.SYS_KEYCTL) },
	"shared memory":   func(*handler, target) error { return call(unix.SYS_SHMGET, 0, 4096, 0o600|unix.IPC_CREAT) },
	"message queue":   func(*handler, target) error { return call(unix.SYS_MSGGET, 0, 0o600|unix.IPC_CREAT) },
	"memory file":     func(*handler, target) error { return call(unix.SYS_MEMFD_CREATE, cString("x"), 0) },
	"another filter":  func(*handler, target) error { return call(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0) },
	"personality":     func(*handler, target) error { return call(unix.SYS_PERSONALITY, 0) },
	"kernel module":   func(*handler, target) error { return call(unix.SYS_FINIT_MODULE, 3) },
	"set the clock":   func(*handler, target) error { return call(unix.SYS_CLOCK_SETTIME, 0, structAt(&unix.Timespec{})) },
	"reboot":          func(*handler, target) error { return call(unix.SYS_REBOOT) },
	"resize its window": func(h *handler, _ target) error {
		return call(unix.SYS_MREMAP, structAt(&h.s.Window[0]), uintptr(len(h.s.Window)), 1<<50, 0)
	},

	// Network.
	"TCP socket":      func(*handler, target) error { return call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM) },
	"UDP socket":      func(*handler, target) error { return call(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM) },
	"abstract socket": func(*handler, target) error { return call(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM) },
	"netlink socket":  func(*handler, target) error { return call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW) },
	"pair of sockets": func(*handler, target) error {
		return call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, structAt(&[2]int32{}))
	},
	"connect its own socket": func(*handler, target) error { return call(unix.SYS_CONNECT, 3, structAt(&[16]byte{}), 16) },
	"accept connections":     func(*handler, target) error { return call(unix.SYS_ACCEPT4, 3) },
}

// roomAttacks are additional attacks of a worker that may write to a directory.
var roomAttacks = map[string]func(h *handler, t target) error{
	"move a file out of its directory": func(_ *handler, t target) error {
		from := filepath.Join(t.Room, "mine")
		if err := opens(from, unix.O_WRONLY|unix.O_CREAT); err != nil {
			return fmt.Errorf("cannot begin: %w", err)
		}
		return unix.Rename(from, t.Secret+".new")
	},
	"move a file into its directory": func(_ *handler, t target) error {
		return unix.Rename(t.Secret, filepath.Join(t.Room, "moved"))
	},
	"replace a file": func(_ *handler, t target) error { return opens(t.Secret, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC) },
	"leave a link":   func(_ *handler, t target) error { return unix.Symlink("/etc", filepath.Join(t.Room, "link")) },
	"leave a pipe": func(_ *handler, t target) error {
		return unix.Mknod(filepath.Join(t.Room, "pipe"), unix.S_IFIFO|0o600, 0)
	},
	"set a mode": func(_ *handler, t target) error {
		return call(unix.SYS_FCHMODAT, at, cString(t.Room), 0o4777)
	},
}

// attack runs one attack in the worker and returns the error of the kernel.
func attack(h *handler, arg string) error {
	var t target
	name, rest, _ := strings.Cut(arg, "\n")
	if _, err := fmt.Sscanf(rest, "%d %d %s %s %s", &t.Host, &t.Thread, &t.Given, &t.Secret, &t.Room); err != nil {
		return err
	}
	if t.Room == "-" {
		t.Room = ""
	}
	f := attacks[name]
	if f == nil {
		f = roomAttacks[name]
	}
	return f(h, t)
}

// landlock1 is a program name with which workers use version 1 of Landlock. The program name is
// used because a worker does not get the environment of its host.
const landlock1 = "landlock version 1"

func TestWorker_Attacks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		program string
		write   bool
	}{
		{"reading", "", false},
		{"writing", "", true},
		{"reading with Landlock 1", landlock1, false},
		{"writing with Landlock 1", landlock1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.program != "" {
				was := os.Args[0]
				_, err := worker.Left() // end idle workers, which have another name
				require.NoError(t, err)
				os.Args[0] = tc.program
				defer func() { os.Args[0] = was }()
			}
			dir, capacity := t.TempDir(), "-"
			given, secret := filepath.Join(dir, "given"), filepath.Join(dir, "secret")
			require.NoError(t, os.WriteFile(given, []byte("of the host"), 0o600))
			require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
			f, err := os.OpenFile(given, os.O_RDONLY, 0)
			require.NoError(t, err)
			defer f.Close()
			names := slices.Sorted(maps.Keys(attacks))
			if tc.write {
				capacity = t.TempDir()
				names = append(names, slices.Sorted(maps.Keys(roomAttacks))...)
			}
			c := client(t, func(cfg *worker.Config) {
				cfg.Files = []*os.File{f}
				if tc.write {
					cfg.Write = capacity
				}
				cfg.Require = worker.Level{Landlock: 1, Seccomp: true, Rlimits: true}
			})
			if _, err := ask(c, "echo"); errors.Is(err, worker.ErrUnavailable) {
				t.Skip("this kernel lacks Landlock or seccomp: ", err)
			}
			if tc.program != "" {
				require.Equal(t, 1, c.Level().Landlock)
			}
			require.True(t, c.Level().Full())
			heard := make(chan os.Signal, 8)
			signal.Notify(heard, ownSignal, unix.SIGIO)
			defer signal.Stop(heard)
			var limits [2]unix.Rlimit
			require.NoError(t, unix.Getrlimit(unix.RLIMIT_CPU, &limits[0]))
			for _, name := range names {
				_, err := ask(c, fmt.Sprintf("attack %s\n%d %d %s %s %s", name, os.Getpid(), unix.Gettid(), given, secret, capacity))
				if err == nil {
					t.Errorf("%s: the attack succeeded", name)
					continue
				}
				answer := []error{unix.ENOSYS, unix.EACCES, unix.EPERM, unix.EBADF, unix.EINVAL, unix.ENOMEM, unix.EISCONN, unix.EXDEV, unix.EAGAIN}
				if !slices.ContainsFunc(answer, func(e error) bool { return err.Error() == e.Error() || strings.HasPrefix(err.Error(), e.Error()+"\n") }) {
					t.Errorf("%s: %v", name, err)
				}
			}
			require.Equal(t, 1, c.Starts(), "no attack ended the worker")
			require.NoError(t, c.Close())

			// The state of the host must be unchanged.
			require.Empty(t, heard)
			require.NoError(t, unix.Getrlimit(unix.RLIMIT_CPU, &limits[1]))
			require.Equal(t, limits[0], limits[1])
			for path, want := range map[string]string{given: "of the host", secret: "secret"} {
				got, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, want, string(got))
			}
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 2)
			other, err := os.Open(given)
			require.NoError(t, err)
			require.NoError(t, unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB), "its lock")
			require.NoError(t, other.Close())
		})
	}
}

// TestAttacks_withoutSandbox checks that the attacks are effective: some that need no privilege
// must succeed in a process that is not a worker.
func TestAttacks_withoutSandbox(t *testing.T) {
	dir := t.TempDir()
	given := filepath.Join(dir, "given")
	require.NoError(t, os.WriteFile(given, []byte("of the host"), 0o600))
	f, err := os.OpenFile(given, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	heard := make(chan os.Signal, 64)
	signal.Notify(heard, ownSignal)
	defer signal.Stop(heard)
	h := &handler{s: &worker.Session{Files: []*os.File{f}, Window: make([]byte, 4096)}}
	to := target{Host: os.Getpid(), Thread: os.Getpid(), Given: given, Secret: given}
	for _, name := range []string{
		"read the host's limits", "kill", "tkill", "tgkill", "pidfd_open", "open the host's environment", "open a descriptor of the host",
		"list the directory of its file", "open its file for both", "map its file for writing", "lock its file", "change times",
		"fcntl F_SETOWN, F_SETSIG and O_ASYNC", "memory file", "abstract socket", "pair of sockets", "rename a file",
		"timer_create", "timerfd_create", "read a link", "change the flags of its file", "capget",
	} {
		require.NoError(t, attacks[name](h, to), name)
	}
	<-heard
}

// TestAttack_processorTime checks that the host kills a worker that exceeds its processor time even
// if malicious code in it ignores SIGXCPU, also between calls.
func TestAttack_processorTime(t *testing.T) {
	short := func(cfg *worker.Config) { cfg.Limits.CPU = 500 * time.Millisecond }
	t.Run("in a call", func(t *testing.T) {
		c := client(t, short)
		_, err := ask(c, "spin deaf")
		require.ErrorIs(t, err, worker.ErrLimit)
		require.ErrorContains(t, err, "processor time of 500ms")
	})
	t.Run("between calls", func(t *testing.T) {
		c := client(t, short)
		_, err := ask(c, "spin later")
		require.NoError(t, err)
		n := pid(t, c)
		require.Eventually(t, func() bool { return !alive(n) }, time.Minute, time.Millisecond)
		_, err = ask(c, "echo")
		require.ErrorIs(t, err, worker.ErrLimit)
		_, err = ask(c, "echo")
		require.NoError(t, err)
	})
	t.Run("many calls", func(t *testing.T) {
		c := client(t, short)
		for range 4 {
			_, err := ask(c, "busy 200ms")
			require.NoError(t, err, "each call has its own time")
		}
		require.Equal(t, 1, c.Starts())
	})
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// TestAttack_hostEnd checks that a worker ends with its host, even if malicious code in it keeps
// its socket open.
func TestAttack_hostEnd(t *testing.T) {
	cmd := program(t, "with an attacker")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid int
	_, err = fmt.Fscanln(out, &pid)
	require.NoError(t, err)
	require.True(t, alive(pid))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, time.Millisecond)
}

// withAttacker starts a worker that no longer reads its control socket.
func withAttacker() error {
	c, err := hostClient()
	if err != nil {
		return err
	}
	said, err := ask(c, "pid")
	if err != nil {
		return err
	}
	for range 100 { // the end of a host thread must not end the worker
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(done)
		}()
		<-done
	}
	if again, err := ask(c, "pid"); err != nil || again != said {
		return fmt.Errorf("worker %s became %s: %w", said, again, err)
	}
	go c.Call(context.Background(), []byte("detach"), nil)
	time.Sleep(50 * time.Millisecond)
	fmt.Println(said)
	select {}
}

// detach replaces the control socket by a pipe that never ends.
func detach() {
	var p [2]int
	if unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		return
	}
	if _, err := unix.FcntlInt(3, unix.F_DUPFD_CLOEXEC, 4); err != nil {
		return
	}
	unix.Dup3(p[0], 3, unix.O_CLOEXEC)
	time.Sleep(time.Hour)
}

// manyThreads starts n threads that do not end.
func manyThreads(arg string) error {
	n, err := strconv.Atoi(arg)
	for range n {
		go func() {
			runtime.LockOSThread()
			call(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
		}()
	}
	time.Sleep(time.Minute) // the host ends the worker before
	return err
}

// shareFile changes everything that processes share through a descriptor: offset, flags and lock.
func shareFile(f *os.File) error {
	_, err := unix.Seek(int(f.Fd()), 7, unix.SEEK_SET)
	call(unix.SYS_FCNTL, f.Fd(), unix.F_SETFL, unix.O_APPEND|unix.O_NONBLOCK)
	call(unix.SYS_FLOCK, f.Fd(), unix.LOCK_UN)
	return err
}

// TestAttack_threads checks that the host ends a worker that starts threads without end.
func TestAttack_threads(t *testing.T) {
	c := client(t, func(cfg *worker.Config) { cfg.Limits.Memory = 1 << 40 }) // each thread of libc reserves a stack
	_, err := ask(c, "bomb 4000")
	require.ErrorIs(t, err, worker.ErrLimit)
	require.ErrorContains(t, err, "threads, at most")
	_, err = ask(c, "echo")
	require.NoError(t, err)
}

// TestAttack_sharedFile checks that a worker cannot change the offset, the flags and the lock of
// the host's descriptor.
func TestAttack_sharedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "given")
	require.NoError(t, os.WriteFile(name, []byte("of the host"), 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	require.NoError(t, err)
	c := client(t, func(cfg *worker.Config) { cfg.Files = []*os.File{f} })
	_, err = ask(c, "offset")
	require.NoError(t, err)

	at, err := f.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	require.Zero(t, at)
	now, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.Equal(t, flags, now)
	other, err := os.Open(name)
	require.NoError(t, err)
	defer other.Close()
	require.ErrorIs(t, unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK, "the host still has its lock")
}

// TestWorker_capabilities checks that a worker of a privileged program has at most the capability
// to read files of other users.
func TestWorker_capabilities(t *testing.T) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid(t, client(t, nil))))
	require.NoError(t, err)
	for _, field := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
		_, rest, found := strings.Cut(string(b), field+":")
		require.True(t, found, field)
		set, err := strconv.ParseUint(strings.TrimSpace(rest[:strings.IndexByte(rest, '\n')]), 16, 64)
		require.NoError(t, err, field)
		require.Zero(t, set&^(1<<unix.CAP_DAC_READ_SEARCH), field)
	}
	require.Contains(t, string(b), "NoNewPrivs:\t1\n")
}
