// Command hostile opens thousands of corrupt and crafted files as a program opens untrusted input,
// and counts the results. `make hostile` runs it.
//
// Every file is opened in six modes: as untrusted in a child process of this program, so that a
// crash is counted; with Verify and Recover; by every public function that reads files, as
// untrusted and as trusted; as untrusted in a worker; and, for HDF5, in a worker without any check,
// which shows that there are crashes to contain. The run fails if a child crashes, hangs or exceeds
// the memory limit, if a valid file reads differently than in the ordinary way, or if a public
// function returns an error without a sentinel. libhdf5 may end the process of a trusted file. All
// random choices follow from -seed.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Limits of a case. A child that exceeds the time limit by more than grace is a failure.
const (
	wall      = 20 * time.Second
	trustWall = 10 * time.Second // in the mode trusted, in which libhdf5 does not end for many files
	grace     = time.Second
	memory    = 1 << 30        // bytes of a worker beyond the size of the started process
	limit     = 128 << 20      // bytes of ndarray.SetReadMemory in a child
	residents = limit + 64<<20 // bytes by which a case may increase the resident memory of a child
	freed     = 32 << 20       // bytes of growth after which a child returns memory, which is slow
	shown     = 8000           // bytes of the traces of a failure
)

type config struct {
	mutants, cuts int
	every         int
	trusted       int // the mode trusted tries every Nth of its cases
	workers       int // a worker also tries every Nth of the cases that are tried in one way alone
	seed          uint64
	match         *regexp.Regexp // of the names of the cases; nil: all
	corpus        string
	blosc2, hdf5  string
	root          string
}

func main() {
	worker.Init()
	var c config
	var child, only string
	var jobs int
	flag.IntVar(&c.mutants, "mutants", 20000, "mutated files over all formats")
	flag.IntVar(&c.cuts, "cuts", 8, "truncations of a file that are tried in each way, spread over those at all borders of its structures, which are tried in one")
	flag.IntVar(&c.every, "every", 1, "try every Nth of the cases that are tried in one way alone")
	flag.IntVar(&c.trusted, "trusted", 1, "try every Nth of the cases of the mode trusted, in which many cases end a process")
	flag.IntVar(&c.workers, "workers", 0, "try every Nth of the cases that are tried in one way alone in a worker too; 0 tries no such case")
	flag.Uint64Var(&c.seed, "seed", 1, "of everything that is random")
	flag.IntVar(&jobs, "jobs", runtime.GOMAXPROCS(0), "cases at a time")
	flag.StringVar(&only, "only", "", "one mode: direct, examined, entries, trusted, worker or unchecked")
	flag.Func("match", "regular expression that selects cases by name, for example store", func(s string) (err error) {
		c.match, err = regexp.Compile(s)
		return err
	})
	flag.StringVar(&child, "child", "", "run the cases that standard input names, in this mode")
	flag.StringVar(&c.root, "root", ".", "the repository")
	verbose := flag.Bool("v", false, "print the result of each case that was contained or failed")
	flag.Parse()
	c.corpus, c.blosc2, c.hdf5 = os.Getenv("HYPERSLAB_CORPUS"), os.Getenv("HYPERSLAB_BLOSC2_SRC"), os.Getenv("HYPERSLAB_HDF5_SRC")
	list, err := plan(c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(2)
	}
	if child != "" {
		if err := serve(list, mode(child)); err != nil {
			fmt.Fprintln(os.Stderr, "hostile:", err)
			os.Exit(2)
		}
		return
	}
	ok := true
	for _, m := range modes {
		if only == "" || only == string(m) {
			step := 1
			if m == trusted {
				step = max(c.trusted, 1)
			}
			t := drive(list, m, options{args: os.Args[1:], jobs: jobs, step: step, verbose: *verbose})
			t.write(m)
			ok = ok && t.good()
		}
	}
	if !ok {
		os.Exit(1)
	}
}

// tally counts the outcomes of one mode, by kind of file.
type tally struct {
	mu    sync.Mutex
	count map[string]map[outcome]int
	files map[string]int
	took  time.Duration
}

func (t *tally) add(x *item, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[x.kind()] == nil {
		t.count[x.kind()] = map[outcome]int{}
	}
	t.count[x.kind()][o]++
	t.files[x.kind()]++
}

// good reports whether there are no crashes, hangs, excessive memory and wrong results.
func (t *tally) good() bool {
	for _, c := range t.count {
		if c[crash]+c[hang]+c[bloat]+c[wrong] > 0 {
			return false
		}
	}
	return true
}

func (t *tally) write(m mode) {
	fmt.Printf("\n%s, %s\n", titles[m], t.took.Round(time.Second))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tfiles\t")
	for _, o := range outcomes {
		fmt.Fprintf(w, "%s\t", o)
	}
	fmt.Fprintln(w)
	var kinds []string
	for k := range t.files {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	sum, all := map[outcome]int{}, 0
	row := func(name string, n int, c map[outcome]int) {
		fmt.Fprintf(w, "%s\t%d\t", name, n)
		for _, o := range outcomes {
			fmt.Fprintf(w, "%d\t", c[o])
		}
		fmt.Fprintln(w)
	}
	for _, k := range kinds {
		row(k, t.files[k], t.count[k])
		all += t.files[k]
		for o, n := range t.count[k] {
			sum[o] += n
		}
	}
	row("all", all, sum)
	w.Flush()
}

// options are those of the child processes.
type options struct {
	args    []string // of the command, which make the same list of cases
	jobs    int      // children at a time
	step    int      // every Nth of the cases of the mode runs
	verbose bool
}

// drive runs the cases of a mode in child processes.
func drive(list []item, m mode, opts options) *tally {
	t := &tally{count: map[string]map[outcome]int{}, files: map[string]int{}}
	began := time.Now()
	queue := make(chan int)
	var all sync.WaitGroup
	for range opts.jobs {
		all.Go(func() {
			var c *childProcess
			defer func() { c.end() }()
			for i := range queue {
				if c == nil {
					var err error
					if c, err = startChild(m, opts.args); err != nil {
						fmt.Fprintln(os.Stderr, "hostile:", err)
						os.Exit(2)
					}
				}
				o, detail := c.try(i, m.wall())
				if o == crash || o == hang {
					c.end()
					c = nil
				}
				if m == trusted && list[i].seed.sort == "hdf5" && inLibrary(o, detail) {
					o = library
				}
				t.add(&list[i], o)
				if o == crash || o == hang || o == bloat || o == wrong || opts.verbose && (o == contained || o == failed) {
					fmt.Printf("%s %s: case %d, %s: %s\n", m, o, i, list[i].name(), detail[:min(len(detail), shown)])
				}
			}
		})
	}
	fitting := 0
	for i := range list {
		if list[i].fits(m) {
			if fitting%opts.step == 0 {
				queue <- i
			}
			fitting++
		}
	}
	close(queue)
	all.Wait()
	t.took = time.Since(began)
	return t
}

// childProcess is a process of this program that runs cases.
type childProcess struct {
	cmd    *exec.Cmd
	in     *bufio.Writer
	out    *bufio.Scanner
	stdin  interface{ Close() error }
	stderr *strings.Builder
}

func startChild(m mode, args []string) (*childProcess, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &childProcess{cmd: exec.Command(exe, append(slices.Clone(args), "-child", string(m))...), stderr: &strings.Builder{}}
	c.cmd.Stderr = c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdin, c.in, c.out = in, bufio.NewWriter(in), bufio.NewScanner(out)
	c.out.Buffer(nil, 2*maxTraces) // a line can contain the traces of all goroutines
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	// The child lists the cases first. That must not count as time of the first case.
	if !c.out.Scan() || c.out.Text() != ready {
		c.end()
		return nil, fmt.Errorf("a child in mode %s: %q %s", m, c.out.Text(), c.stderr)
	}
	return c, nil
}

// ready is the line that a child prints when it waits for cases.
const ready = "ready"

// try lets the child run one case, and returns the outcome.
func (c *childProcess) try(i int, wall time.Duration) (outcome, string) {
	fmt.Fprintln(c.in, i)
	c.in.Flush()
	late := false
	timer := time.AfterFunc(2*wall+grace, func() {
		late = true
		c.cmd.Process.Signal(syscall.SIGQUIT) // prints the traces of the goroutines
		time.AfterFunc(grace, func() { c.cmd.Process.Kill() })
	})
	more := c.out.Scan()
	timer.Stop()
	if !more {
		c.cmd.Wait()
		if late {
			return hang, "no answer: " + c.stderr.String()
		}
		return crash, c.cmd.ProcessState.String() + ": " + c.stderr.String()
	}
	name, detail, _ := strings.Cut(c.out.Text(), " ")
	return outcome(name), detail
}

func (c *childProcess) end() {
	if c == nil {
		return
	}
	c.stdin.Close()
	timer := time.AfterFunc(time.Second, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	c.cmd.Wait()
}

// serve is the main function of a child: it runs the cases whose numbers it reads from standard
// input.
func serve(list []item, m mode) error {
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ndarray.SetReadMemory(limit)
	base, err := residentBytes()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(base + limit) // so that unused memory does not accumulate
	if m == trusted {
		if err := limitData(); err != nil {
			return err
		}
	}
	fmt.Println(ready)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		i, err := strconv.Atoi(in.Text())
		if err != nil || i < 0 || i >= len(list) {
			return fmt.Errorf("case %q", in.Text())
		}
		place := filepath.Join(dir, fmt.Sprint(i))
		resident, err := residentBytes()
		if err != nil {
			return err
		}
		before := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), m.wall())
		late := make(chan string, 1)
		timer := time.AfterFunc(m.wall()+grace, func() { late <- traces() })
		o, detail := list[i].run(ctx, m, place)
		cancel()
		took, ended := time.Since(before), timer.Stop()
		n, err := highWater()
		if err != nil {
			return err
		}
		if !ended {
			o, detail = hang, took.String()+": "+<-late
		} else if n > residents+resident {
			o, detail = bloat, fmt.Sprintf("%d MiB more", (n-resident)>>20)
		}
		if n > resident+freed { // otherwise the next case could begin with more
			debug.FreeOSMemory()
			if _, err := highWater(); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(place); err != nil {
			return err
		}
		fmt.Printf("%s %s\n", o, strings.ReplaceAll(detail, "\n", " "))
	}
	return in.Err()
}

// wall returns the time limit of a case.
func (m mode) wall() time.Duration {
	if m == trusted {
		return trustWall
	}
	return wall
}

// maxTraces is the maximum number of bytes of traces.
const maxTraces = 1 << 20

func traces() string {
	b := make([]byte, maxTraces)
	return string(b[:runtime.Stack(b, true)])
}

// limitData limits the memory of this process, so that allocations of libhdf5 whose size is from a
// trusted file fail, instead of the system.
func limitData() error {
	n, err := status("VmData:")
	if err != nil {
		return err
	}
	most := uint64(n + memory)
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most})
}

// highWater returns the peak memory of this process since the last call, in bytes.
func highWater() (int64, error) {
	n, err := status("VmHWM:")
	if err != nil {
		return 0, err
	}
	return n, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// residentBytes returns the resident memory of this process.
func residentBytes() (int64, error) { return status("VmRSS:") }

func status(field string) (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), field)
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib << 10, err
}
