// The tracer (ptrace).

package crashtest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Result describes how a program ended.
type Result struct {
	Killed bool // by the Judge
	Code   int  // exit status; -1 after a signal
}

// Run starts a command and calls the judge for each of its system calls that reads or changes a
// file below dir. The events are those that passed; a shortened write has its actual length. The
// command must not be started yet; its standard streams should be files or nil.
//
// The error is one of starting or tracing the program, errors.ErrUnsupported if tracing is not
// allowed. The way in which the program ended is in the Result and is not an error.
func Run(cmd *exec.Cmd, dir string, judge Judge) (events []Event, r *Result, err error) {
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, nil, err
	}
	// All ptrace calls must come from one thread. The goroutine never unlocks it, so the thread
	// ends with the goroutine.
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		t := &tracer{dir: dir, judge: judge, threads: map[int]*thread{}}
		r, err = t.run(cmd)
		events = t.events
	}()
	<-done
	return events, r, err
}

// thread is the state of a thread of the program between its stops.
type thread struct {
	inside  bool   // in a system call
	event   *Event // of the system call
	verdict Verdict
}

type tracer struct {
	dir     string
	judge   Judge
	threads map[int]*thread
	events  []Event
	pid     int
	n       int
	killed  bool
	err     error
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_EXITKILL

func (t *tracer) run(cmd *exec.Cmd) (*Result, error) {
	// A process group of its own lets Wait4 wait for the program's threads only.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, syscall.EPERM) {
			err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return nil, err
	}
	t.pid = cmd.Process.Pid
	defer func() { _ = cmd.Process.Release() }()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &ws, unix.WALL, nil); err != nil {
		return nil, err
	}
	if err := unix.PtraceSetOptions(t.pid, traceOptions); err != nil {
		return nil, err
	}
	t.threads[t.pid] = &thread{}
	if err := unix.PtraceSyscall(t.pid, 0); err != nil {
		return nil, err
	}
	for {
		id, err := unix.Wait4(-t.pid, &ws, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case ws.Exited() && id == t.pid:
			return &Result{Killed: t.killed, Code: ws.ExitStatus()}, t.err
		case ws.Signaled() && id == t.pid:
			return &Result{Killed: t.killed, Code: -1}, t.err
		case !ws.Stopped():
			delete(t.threads, id)
			continue
		}
		th := t.threads[id]
		if th == nil {
			th = &thread{}
			t.threads[id] = th
		}
		signal := 0
		switch s := ws.StopSignal(); {
		case s == unix.SIGTRAP|0x80:
			t.call(id, th)
		case s == unix.SIGTRAP, s == unix.SIGSTOP:
		default:
			signal = int(s)
		}
		if err := unix.PtraceSyscall(id, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return nil, err
		}
	}
}

// call handles a stop before or after a system call.
func (t *tracer) call(id int, th *thread) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(id, &regs); err != nil {
		return // killed meanwhile
	}
	th.inside = !th.inside
	if !th.inside {
		t.leave(id, th, &regs)
		return
	}
	th.event, th.verdict = t.event(id, &regs), Verdict{}
	if th.event == nil || t.killed {
		return
	}
	th.verdict = t.judge(t.n, *th.event)
	t.n++
	switch v := th.verdict; {
	case v.Kill:
		t.killed, th.event = true, nil
		if err := unix.Kill(t.pid, unix.SIGKILL); err != nil {
			t.err = err
		}
	case v.Signal != 0:
		t.err = errors.Join(t.err, unix.Kill(t.pid, v.Signal))
	case v.Errno != 0:
		th.event = nil
		regs.Orig_rax = ^uint64(0) // no such call
		t.err = errors.Join(t.err, unix.PtraceSetRegs(id, &regs))
	case v.Short > 0:
		regs.Rdx = uint64(v.Short)
		th.event.Data = th.event.Data[:min(v.Short, len(th.event.Data))]
		t.err = errors.Join(t.err, unix.PtraceSetRegs(id, &regs))
	}
}

// leave handles the stop after a system call.
func (t *tracer) leave(id int, th *thread, regs *unix.PtraceRegs) {
	if th.verdict.Errno != 0 {
		regs.Rax = uint64(-int64(th.verdict.Errno))
		t.err = errors.Join(t.err, unix.PtraceSetRegs(id, regs))
	} else if th.event != nil && int64(regs.Rax) >= 0 {
		switch th.event.Kind {
		case Write:
			th.event.Data = th.event.Data[:min(int(regs.Rax), len(th.event.Data))]
		case Copy:
			t.copied(th.event, int(regs.Rax))
		}
		t.events = append(t.events, *th.event)
	}
	th.event, th.verdict = nil, Verdict{}
}

// copied turns a Copy into a Write. It reads the copied bytes from the file after the call.
func (t *tracer) copied(e *Event, n int) {
	e.Kind, e.Data = Write, make([]byte, n)
	f, err := os.Open(filepath.Join(t.dir, e.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return // the file has no name any more
	}
	if err == nil {
		_, err = f.ReadAt(e.Data, e.Offset)
		err = errors.Join(err, f.Close())
	}
	t.err = errors.Join(t.err, err)
}

// event returns the event of a system call that is about to run, or nil if the call does not
// concern the directory.
func (t *tracer) event(id int, r *unix.PtraceRegs) *Event {
	at := func(dirfd, path uint64) string { return t.below(t.path(id, int(int32(dirfd)), t.text(id, path))) }
	fd := func(n uint64) string { return t.below(t.link(int(int32(n)))) }
	one := func(k Kind, path string) *Event {
		if path == "" {
			return nil
		}
		return &Event{Kind: k, Path: path}
	}
	const cwd = ^uint64(99) // AT_FDCWD
	switch r.Orig_rax {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		e := one(Write, fd(r.Rdi))
		if e == nil {
			return nil
		}
		e.Offset = int64(r.R10)
		if r.Orig_rax == unix.SYS_WRITE {
			e.Offset = t.position(int(r.Rdi))
		}
		e.Data = t.memory(id, r.Rsi, int(r.Rdx))
		return e
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE:
		n := r.Rdi
		if r.Orig_rax == unix.SYS_COPY_FILE_RANGE {
			n = r.Rdx
		}
		e := one(Copy, fd(n))
		if e != nil {
			e.Offset = t.position(int(n)) // Go passes no offset
		}
		return e
	case unix.SYS_READ, unix.SYS_PREAD64:
		return one(Read, fd(r.Rdi))
	case unix.SYS_FTRUNCATE:
		e := one(Truncate, fd(r.Rdi))
		if e != nil {
			e.Offset = int64(r.Rsi)
		}
		return e
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		return one(Sync, fd(r.Rdi))
	case unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_OPENAT:
		dirfd, path, flags := cwd, r.Rdi, r.Rsi
		if r.Orig_rax == unix.SYS_OPENAT {
			dirfd, path, flags = r.Rdi, r.Rsi, r.Rdx
		}
		p := at(dirfd, path)
		if p == "" || flags&(unix.O_CREAT|unix.O_TRUNC) == 0 {
			return nil
		}
		if _, err := os.Lstat(filepath.Join(t.dir, p)); err != nil {
			return one(Create, p)
		}
		if flags&unix.O_TRUNC != 0 {
			return one(Truncate, p)
		}
		return nil
	case unix.SYS_MKDIR:
		return one(Mkdir, at(cwd, r.Rdi))
	case unix.SYS_MKDIRAT:
		return one(Mkdir, at(r.Rdi, r.Rsi))
	case unix.SYS_UNLINK, unix.SYS_RMDIR:
		return one(Remove, at(cwd, r.Rdi))
	case unix.SYS_UNLINKAT:
		return one(Remove, at(r.Rdi, r.Rsi))
	case unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		from, to, swap := at(cwd, r.Rdi), at(cwd, r.Rsi), false
		if r.Orig_rax != unix.SYS_RENAME {
			from, to = at(r.Rdi, r.Rsi), at(r.Rdx, r.R10)
			swap = r.Orig_rax == unix.SYS_RENAMEAT2 && r.R8&unix.RENAME_EXCHANGE != 0
		}
		e := one(Rename, from)
		if e != nil {
			e.To, e.Swap = to, swap
		}
		return e
	}
	return nil
}

// below returns a path relative to the watched directory, or "" for a path elsewhere.
func (t *tracer) below(path string) string {
	if path == t.dir {
		return "."
	}
	rest, ok := strings.CutPrefix(path, t.dir+"/")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(rest, " (deleted)")
}

// link returns the path of an open descriptor of the program.
func (t *tracer) link(fd int) string {
	p, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, fd))
	if err != nil {
		return ""
	}
	return p
}

// path returns the absolute path of a path argument, which may be relative to a directory
// descriptor.
func (t *tracer) path(id, dirfd int, path string) string {
	if !filepath.IsAbs(path) {
		if dirfd == unix.AT_FDCWD {
			cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", id))
			if err != nil {
				return ""
			}
			path = filepath.Join(cwd, path)
		} else {
			path = filepath.Join(t.link(dirfd), path)
		}
	}
	// The path without symbolic links in its directory.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// position returns the file offset of a descriptor.
func (t *tracer) position(fd int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", t.pid, fd))
	if err != nil {
		t.err = errors.Join(t.err, err)
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if digits, ok := strings.CutPrefix(line, "pos:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
			t.err = errors.Join(t.err, err)
			return n
		}
	}
	return 0
}

// memory reads n bytes of the program's memory.
func (t *tracer) memory(id int, at uint64, n int) []byte {
	b := make([]byte, n)
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", id))
	if err == nil {
		_, err = f.ReadAt(b, int64(at))
		err = errors.Join(err, f.Close())
	}
	t.err = errors.Join(t.err, err)
	return b
}

// text reads a NUL-terminated string from the program's memory.
func (t *tracer) text(id int, at uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", id))
	if err != nil {
		t.err = errors.Join(t.err, err)
		return ""
	}
	defer f.Close()
	b := make([]byte, unix.PathMax)
	n, err := f.ReadAt(b, int64(at))
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return "" // not mapped memory: the call will fail
	}
	text, _, _ := strings.Cut(string(b[:n]), "\x00")
	return text
}
