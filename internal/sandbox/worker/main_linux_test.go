package worker_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/internal/cmem"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) {
	if os.Args[0] == landlock1 {
		worker.LandlockAtMost(1)
	}
	if os.Getenv(asHost) != "without Init" {
		worker.Init()
	}
	if how := os.Getenv(asHost); how != "" {
		if err := hosts[how](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leak.Main(m, leak.Check{Name: "worker processes", Left: worker.Left})
}

var errOdd = errs.New("an odd request")

func init() {
	worker.RegisterRaw("test", func(s *worker.Session) (worker.RawHandler, error) {
		return &handler{s: s, meeting: make(chan struct{})}, nil
	})
}

// handler executes the requests of the tests, valid and harmful ones.
type handler struct {
	s       *worker.Session
	meeting chan struct{}
	others  atomic.Int64
}

func (h *handler) Beside(request []byte) bool { return bytes.HasPrefix(request, []byte("meet ")) }

func (h *handler) Call(request []byte) ([]byte, error) {
	verb, arg, _ := strings.Cut(string(request), " ")
	switch verb {
	case "echo":
		return []byte(arg), nil
	case "fill":
		for i := range h.s.Window {
			h.s.Window[i] = arg[0]
		}
		return binary.LittleEndian.AppendUint64(nil, uint64(len(h.s.Window))), nil
	case "error":
		return nil, fmt.Errorf("%w: %s", errOdd, arg)
	case "panic":
		panic(arg)
	case "segv", "abort":
		// A fault in C code and abort of libc send a signal to one thread. The sandbox allows
		// tgkill, but not kill.
		sig := map[string]unix.Signal{"segv": unix.SIGSEGV, "abort": unix.SIGABRT}[verb]
		unix.Tgkill(unix.Getpid(), unix.Gettid(), sig)
		time.Sleep(time.Minute)
	case "exit":
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	case "spin":
		if arg == "deaf" {
			signal.Ignore(unix.SIGXCPU)
		}
		if arg == "later" {
			go spin(time.Hour)
			return nil, nil
		}
		for i := 0; ; i++ { // uses processor time without system calls
			if i < 0 {
				return nil, nil
			}
		}
	case "busy":
		d, err := time.ParseDuration(arg)
		spin(d)
		return nil, err
	case "detach":
		detach()
	case "bomb":
		return nil, manyThreads(arg)
	case "offset":
		return nil, shareFile(h.s.Files[0])
	case "attack":
		return nil, attack(h, arg)
	case "gomem":
		for {
			held = &list{block: bytes.Repeat([]byte{1}, 16<<20), next: held}
		}
	case "threads": // allocates C memory in several threads, then Go memory
		var started, ended sync.WaitGroup
		done := make(chan struct{})
		started.Add(8)
		for range 8 {
			ended.Go(func() {
				runtime.LockOSThread() // the thread ends with the goroutine
				if p, err := cmem.Alloc(1 << 10); err == nil {
					defer cmem.Free(p)
				}
				started.Done()
				<-done
			})
		}
		started.Wait()
		kept := bytes.Repeat([]byte{1}, 64<<20)
		close(done)
		ended.Wait()
		return []byte(strconv.Itoa(len(kept))), nil
	case "cmem":
		n := 0
		for ; n < 1<<16; n++ {
			if _, err := cmem.Alloc(1 << 20); err != nil {
				break
			}
		}
		return fmt.Appendf(nil, "%d MiB", n), nil
	case "open":
		f, err := os.Open(arg)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		b, err := io.ReadAll(f)
		return b, err
	case "create":
		return nil, os.WriteFile(arg, []byte("x"), 0o644)
	case "make": // creates a file of the given size in a new directory, and renames it
		dir, size, _ := strings.Cut(arg, " ")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, err
		}
		if err := os.Mkdir(dir+"/sub", 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(dir+"/sub/a", make([]byte, n), 0o644); err != nil {
			return nil, err
		}
		return nil, os.Rename(dir+"/sub/a", dir+"/sub/b")
	case "link":
		return nil, os.Symlink("/etc", arg)
	case "pid":
		return fmt.Append(nil, os.Getpid()), nil
	case "file":
		return io.ReadAll(h.s.Files[0])
	case "reopen":
		return os.ReadFile(worker.FilePath(h.s.Files[0]))
	case "meet": // waits for a concurrent call with this verb
		h.others.Add(1)
		defer h.others.Add(-1)
		select {
		case h.meeting <- struct{}{}:
		case <-h.meeting:
		}
		return []byte(arg), nil
	case "alone":
		return fmt.Appendf(nil, "%d others", h.others.Load()), nil
	case "half": // fills the given half of the window
		half := len(h.s.Window) / 2
		for i := range half {
			h.s.Window[int(arg[0]-'0')*half+i] = arg[1]
		}
		return []byte(arg), nil
	case "exec":
		return nil, unix.Exec("/bin/true", []string{"true"}, nil)
	case "dial":
		_, err := net.Dial("tcp", "127.0.0.1:1")
		return nil, err
	case "limits":
		var b []byte
		for _, what := range []int{unix.RLIMIT_AS, unix.RLIMIT_CPU, unix.RLIMIT_FSIZE, unix.RLIMIT_NOFILE, unix.RLIMIT_CORE, unix.RLIMIT_SIGPENDING, unix.RLIMIT_NPROC} {
			var r unix.Rlimit
			if err := unix.Getrlimit(what, &r); err != nil {
				return nil, err
			}
			b = fmt.Appendf(b, "%d ", r.Cur)
		}
		return b, nil
	case "processors":
		return fmt.Append(nil, runtime.GOMAXPROCS(0)), nil
	case "environ":
		return []byte(strings.Join(os.Environ(), "\n")), nil
	}
	return nil, errOdd
}

// spin uses processor time of one processor.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

type list struct {
	block []byte
	next  *list
}

// held is the list of "gomem". It is a variable of the package, because the garbage collector frees
// a local list whose head is not read again, and the loop would then never end.
var held *list
