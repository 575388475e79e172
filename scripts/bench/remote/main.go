// Command remote measures reads of URLs through a server with latency and a bandwidth limit: the
// hyperslab command, h5py with fsspec, python-blosc2 (RemoteStore), h5coro, kerchunk references
// with zarr-python and obstore, and the same array as Zarr v3. scripts/nightly.sh remote calls it.
//
// The time of the hyperslab command is that of the whole process. The times of Python exclude the
// start of the program and the imports. The benchmark fails if a peer returns other values.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	dir, command, python, out string
	size                      int64 // bytes of the elements of the large array
	runs                      int
	only                      string
	quick, prepare            bool
	links                     []link
}

// link is a connection to the server.
type link struct {
	latency time.Duration
	rate    float64 // bytes per second; infinite without a limit
}

func (l link) String() string {
	if math.IsInf(l.rate, 1) {
		return fmt.Sprintf("%v, unlimited", l.latency)
	}
	return fmt.Sprintf("%v, %.0f MB/s", l.latency, l.rate/1e6)
}

func main() {
	o := options{links: []link{{30 * time.Millisecond, 125e6}, {30 * time.Millisecond, math.Inf(1)}, {5 * time.Millisecond, 125e6}, {5 * time.Millisecond, math.Inf(1)}}}
	flag.StringVar(&o.dir, "dir", ".bench/remote", "directory of the data")
	flag.StringVar(&o.command, "command", ".bench/hyperslab", "the hyperslab command")
	flag.StringVar(&o.python, "python", os.Getenv("HYPERSLAB_REMOTE_PYTHON"), "interpreter of the peers (.venv-remote of `make peers`)")
	flag.StringVar(&o.out, "o", "", "file for the tables; default: standard output")
	mib := flag.Int64("size", 256, "MiB of the elements of the large array")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; the table has the fastest. A row of more than 3 seconds runs once")
	flag.StringVar(&o.only, "only", "", "only rows whose name contains this text")
	flag.BoolVar(&o.quick, "quick", false, "64 MiB, one run, one link: a test of the benchmark")
	flag.BoolVar(&o.prepare, "prepare", false, "only create the files")
	flag.Parse()
	if o.size = *mib << 20; o.quick {
		o.size, o.runs, o.links, o.dir = 64<<20, 1, o.links[:1], o.dir+"-quick"
	}
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.prepare {
		return data(ctx, o)
	}
	// The files are created in another process, because the peak memory of a child contains that of
	// its parent.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self, append([]string{"-prepare"}, os.Args[1:]...)...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return err
	}
	s, err := newServer(o.dir)
	if err != nil {
		return err
	}
	defer s.close()
	b := &bench{o: o, s: s}
	if err := b.indexes(ctx); err != nil {
		return err
	}
	for _, l := range o.links {
		s.use(l)
		for _, t := range tasks {
			if strings.Contains(t.name, o.only) {
				if err := b.task(ctx, l, t); err != nil {
					return err
				}
			}
		}
		if o.out != "" {
			if err := os.WriteFile(o.out, []byte(b.report()), 0o644); err != nil {
				return err
			}
		}
	}
	if o.out == "" {
		_, err = os.Stdout.WriteString(b.report())
	}
	return err
}

// bench measures the rows.
type bench struct {
	o    *options
	s    *server
	rows []row
}

// row is a program that did a task.
type row struct {
	link          link
	task          task
	program       string
	runs          int
	seconds       float64
	cpu           float64 // processor time in seconds
	peak          int64   // resident memory in bytes
	requests, got int64   // got: bytes of the bodies
	load          string
}

// sample is one run of a program. Python prints it as JSON.
type sample struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Peak    int64   `json:"peak"`
	Value   float64 `json:"value"`
}

// indexes writes the indexes of hyperslab and of python-blosc2, without latency.
func (b *bench) indexes(ctx context.Context) error {
	b.s.use(link{0, math.Inf(1)})
	for _, name := range indexed {
		c := exec.CommandContext(ctx, b.o.command, "index", b.s.url+"/"+name, "-o", filepath.Join(b.o.dir, name+".index"), "-f", "--allow-private")
		c.Stderr = os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("index of %s: %w", name, err)
		}
	}
	if b.o.python == "" {
		return nil
	}
	_, err := b.peer(ctx, "indexes", "", "")
	return err
}

// task measures all programs that can do a task.
func (b *bench) task(ctx context.Context, l link, t task) error {
	args := append([]string{"stats", "--bins", "0", "--json"}, "@/"+t.file+t.address)
	if t.job == "list" {
		args = []string{"ls", "-r", "--json", "@/" + t.file}
	}
	own := func(args ...string) func() (sample, error) {
		return func() (sample, error) { return b.own(ctx, args) }
	}
	want, err := b.row(ctx, l, t, "hyperslab", math.NaN(), own(args...))
	if err != nil {
		return err
	}
	if slices.Contains(indexed, t.file) {
		if _, err := b.row(ctx, l, t, "hyperslab, index", want, own(append(args, "--url-index", filepath.Join(b.o.dir, t.file+".index"))...)); err != nil {
			return err
		}
	}
	if b.o.python == "" {
		return nil
	}
	for _, name := range t.peers {
		if _, err := b.row(ctx, l, t, name, want, func() (sample, error) { return b.peer(ctx, name, t.job, t.file) }); err != nil {
			return err
		}
	}
	return nil
}

// row measures a program. It returns the value that the program found, which must be want unless
// that is NaN.
func (b *bench) row(ctx context.Context, l link, t task, program string, want float64, f func() (sample, error)) (float64, error) {
	r := row{link: l, task: t, program: program, seconds: math.Inf(1), load: load()}
	for r.runs < b.o.runs && (r.runs == 0 || r.seconds < 3) {
		before, sent := b.s.requests.Load(), b.s.sent.Load()
		x, err := f()
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return 0, fmt.Errorf("%v: %s, %s: %w", l, t.name, program, err)
		}
		if math.IsNaN(want) {
			want = x.Value
		} else if math.Abs(x.Value-want) > 1e-9*math.Abs(want) {
			return 0, fmt.Errorf("%v: %s, %s: value: got %v, want %v", l, t.name, program, x.Value, want)
		}
		r.runs++
		if x.Seconds < r.seconds {
			r.seconds, r.cpu, r.peak = x.Seconds, x.CPU, x.Peak
			r.requests, r.got = b.s.requests.Load()-before, b.s.sent.Load()-sent
		}
	}
	b.rows = append(b.rows, r)
	fmt.Fprintf(os.Stderr, "%v: %s, %s: %.2f s, %d requests, %.1f MB, cpu %.2f s, %d MB\n", l, t.name, program, r.seconds, r.requests, float64(r.got)/1e6, r.cpu, r.peak/1e6)
	return want, nil
}

// own runs the hyperslab command. @ is the URL of the server.
func (b *bench) own(ctx context.Context, args []string) (x sample, err error) {
	args = append(slices.Clone(args), "--allow-private")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@", b.s.url)
	}
	c := exec.CommandContext(ctx, b.o.command, args...)
	c.Stderr = os.Stderr
	since := time.Now()
	out, err := c.Output()
	x.Seconds = time.Since(since).Seconds()
	if err != nil {
		return x, err
	}
	x.CPU = (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		x.Peak = int64(u.Maxrss) << 10
	}
	if args[0] == "ls" {
		x.Value = float64(bytes.Count(out, []byte(`"kind": "array"`)))
		return x, nil
	}
	var doc struct {
		Mean *float64 `json:"mean"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return x, err
	}
	if doc.Mean == nil {
		return x, errors.New("stats: no mean")
	}
	x.Value = *doc.Mean
	return x, nil
}

// peer runs a job of peer.py.
func (b *bench) peer(ctx context.Context, program, job, file string) (x sample, err error) {
	c := exec.CommandContext(ctx, b.o.python, "scripts/bench/remote/peer.py", program, job, file, b.o.dir, b.s.url)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return x, err
	}
	return x, json.Unmarshal(out, &x)
}

// load returns the load of the machine in the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // "" on other systems
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
