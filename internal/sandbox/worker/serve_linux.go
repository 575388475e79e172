// Worker side: restrict the process, then answer requests.

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var inited atomic.Bool

func initialized() bool { return inited.Load() }

// Init makes isolation available to this program. It must be the first call of main (of a test
// binary: of TestMain). In a process that a Client started, it serves requests and never returns.
func Init() {
	if _, ok := os.LookupEnv(envWorker); ok {
		os.Exit(serve())
	}
	inited.Store(true)
}

// serve returns the exit status of the worker.
func serve() int {
	// The host puts a socket at this descriptor. If a user sets the variable by hand, the program
	// prints an error and does not hang.
	if t, err := unix.GetsockoptInt(fdControl, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || t != unix.SOCK_STREAM {
		fmt.Fprintf(os.Stderr, "%s is set, but this process was not started as a worker\n", envWorker)
		return 2
	}
	if err := closeInherited(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	unix.SetNonblock(fdControl, true)
	control := os.NewFile(fdControl, "control")
	h, session, err := begin(control)
	if errors.Is(err, io.EOF) {
		return 0 // an idle worker that was not used
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		writeFrame(control, frameError, encodeError(err, nil))
		return 2
	}
	say, err := json.Marshal(hello{Level: session.Level})
	if err == nil {
		err = writeFrame(control, frameHello, say)
	}
	if err != nil {
		return 2
	}
	// A separate goroutine reads requests, so that a worker ends at once with its host, even during
	// a C call that does not return.
	requests := make(chan []byte, MaxAhead)
	go func() {
		for {
			kind, request, err := readFrame(control)
			if err != nil {
				if errors.Is(err, io.EOF) {
					os.Exit(0)
				}
				os.Exit(2)
			}
			if kind == frameCall {
				requests <- request
			}
		}
	}()
	// Answers are sent in the order of the requests, independent of the duration of each call.
	type result struct {
		kind   byte
		answer []byte
	}
	results := make(chan chan result, MaxAhead)
	var writing sync.Mutex
	write := func(kind byte, payload []byte) {
		writing.Lock()
		defer writing.Unlock()
		if writeFrame(control, kind, payload) != nil {
			os.Exit(2)
		}
	}
	go func() {
		for r := range results {
			x := <-r
			write(x.kind, x.answer)
		}
	}()
	session.Progress = throttled(func(done, total int64) { write(frameProgress, Encode(progress{done, total}, nil)) })
	var handler rawHandler
	// Concurrent calls run in goroutines that are reused, because their stacks have grown.
	var running sync.WaitGroup
	calls := make(chan func())
	hands := 0
	for request := range requests {
		r := make(chan result, 1)
		results <- r
		call := func() {
			answer, err := answerOf(handler, request)
			if err == nil && len(answer) > maxFrame {
				err = fmt.Errorf("%w: answer of %d bytes, at most %d", ErrProtocol, len(answer), maxFrame)
			}
			if err != nil {
				r <- result{frameError, encodeError(err, session.Names)}
				return
			}
			r <- result{frameAnswer, answer}
		}
		if handler == nil {
			if handler, err = serviceOf(session, h.Service); err != nil {
				r <- result{frameError, encodeError(err, session.Names)}
				continue
			}
		}
		if beside, ok := handler.(besideHandler); ok && beside.Beside(request) {
			running.Add(1)
			for ; hands < runtime.GOMAXPROCS(0); hands++ {
				go func() {
					for c := range calls {
						c()
						running.Done()
					}
				}()
			}
			calls <- call
			continue
		}
		running.Wait()
		call()
	}
	return 0
}

// throttled returns a function that calls report at most about 256 times for each total.
func throttled(report func(done, total int64)) func(done, total int64) {
	last := int64(-1)
	return func(done, total int64) {
		if done >= last && last >= 0 && done < total && done-last < total/256 {
			return
		}
		last = done
		report(done, total)
	}
}

// closeInherited closes the host's descriptors after the control socket. Libraries in the host open
// files without O_CLOEXEC, and such a descriptor would give the worker the host's file with its
// rights and its lock. Descriptors that the runtime of this process has opened have the flag.
func closeInherited() error {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("inherited descriptors: %w", err)
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n.Name())
		if err != nil {
			return fmt.Errorf("inherited descriptors: %w", err)
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > fdControl && err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd) // errors of writing the host's data concern the host
		}
	}
	unix.CloseOnExec(fdControl)
	return nil
}

// begin receives the settings, restricts the process and prepares the session. The service itself
// starts with the first call, when all restrictions are active. io.EOF means that the host has
// ended without sending settings.
func begin(control *os.File) (*settings, *Session, error) {
	reading := assemble(false) // most workers only read, and an idle worker has time to prepare
	fds, err := receiveFiles(control)
	if err != nil {
		return nil, nil, err
	}
	if len(fds) == 0 {
		return nil, nil, io.EOF
	}
	kind, payload, err := readFrame(control)
	if err != nil {
		return nil, nil, fmt.Errorf("settings: %w", err)
	}
	var set settings
	if err := json.Unmarshal(payload, &set); kind != frameConfig || err != nil || service(set.Service) == nil {
		return nil, nil, fmt.Errorf("%w: settings of kind %d, %d bytes", ErrProtocol, kind, len(payload))
	}
	s := &Session{open: set.Open}
	names := map[string]string{}
	window := fds[0]
	for i, fd := range fds[1:] {
		s.Files = append(s.Files, os.NewFile(uintptr(fd), fmt.Sprintf("file %d", i)))
		// Libraries need paths. This path leads to the file that the host has open, even if its
		// name now leads to another file.
		// A file in memory has no directory and needs no permission.
		if info, err := s.Files[i].Stat(); err == nil && (info.Mode().IsRegular() || info.IsDir()) && !inMemory(s.Files[i]) {
			set.Read = append(set.Read, FilePath(s.Files[i]))
		}
		if i < len(set.Names) {
			names[FilePath(s.Files[i])], names[fmt.Sprintf("/dev/fd/%d", fd)] = set.Names[i], set.Names[i]
		}
	}
	s.Names = Replacer(names)
	if s.Window, err = unix.Mmap(window, 0, int(set.Window), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, nil, fmt.Errorf("map the window: %w", err)
	}
	unix.Close(window)
	set.NoFile += slices.Max(fds) + 1 // the limit is the number after the highest descriptor
	if s.Level, err = hold(&set, reading); err != nil {
		return nil, nil, err
	}
	return &set, s, nil
}

// inMemory reports whether a file was created by memfd_create.
func inMemory(f *os.File) bool {
	target, err := os.Readlink(FilePath(f))
	return err == nil && strings.HasPrefix(target, "/memfd:")
}

// serviceOf creates the handler, and answerOf calls it. A panic of Go code is an error of the call;
// the worker continues.
func serviceOf(s *Session, name string) (_ rawHandler, err error) {
	defer caught(&err)
	return service(name)(s)
}

func answerOf(h rawHandler, request []byte) (_ []byte, err error) {
	defer caught(&err)
	return h.Call(request)
}

func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", ErrPanic, r)
	}
}
