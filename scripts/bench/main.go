// Command bench measures the performance that the README documents: each row of its table with the
// peer on the same data at the same time, the growth of cost with chunks and goroutines, and the
// processor time of commands for four times the objects, references, attributes and other parts. It
// writes its results to scripts/bench/results.md. scripts/bench.sh builds its inputs and calls it.
//
// All work runs in child processes, both the peers and this module, which receive one line per run
// (peers/peer.h). Therefore the runs can alternate, the peak memory of each child is measured
// separately, and the same clock measures C, Python and Go.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// options contains the flags.
type options struct {
	dir     string // directory of programs, data and results of rows
	out     string // the report
	rows    *regexp.Regexp
	runs    int
	size    int64 // bytes of real data
	big     int64 // bytes of the files that are repacked and converted
	quick   bool
	resume  bool
	python  string
	large   bool
	profile bool
	before  string // directory of the programs of an earlier commit, or ""
}

func main() {
	worker.Init()
	if len(os.Args) > 2 && (os.Args[1] == "task" || os.Args[1] == "once") {
		os.Exit(child(os.Args[2], os.Args[3:], os.Args[1] == "once"))
	}
	o := options{python: os.Getenv("HYPERSLAB_PYTHON")}
	flag.StringVar(&o.dir, "dir", ".bench", "directory of programs, data and results")
	flag.StringVar(&o.out, "o", "scripts/bench/results.md", "the report; of -before: before.md in the directory of results")
	rows := flag.String("rows", "", "only rows whose name matches; the report keeps rows measured before")
	flag.IntVar(&o.runs, "runs", 10, "runs of everything")
	size := flag.Int64("size", 350, "MiB of real data")
	big := flag.Int64("big", 1024, "MiB of the files that are repacked and converted")
	flag.BoolVar(&o.quick, "quick", false, "2 runs of little data, as a test of the benchmark")
	flag.BoolVar(&o.resume, "resume", false, "keep the results of rows that an earlier call of today has finished")
	flag.BoolVar(&o.large, "large", false, "the rows of 10 GiB instead, which need 20 GB of disk")
	flag.StringVar(&o.before, "before", "", "directory with the programs bench and hyperslab of an earlier commit, which replace the peers")
	flag.BoolVar(&o.profile, "profile", true, "profile rows below their bar")
	flag.Parse()
	if o.before != "" && o.out == flag.Lookup("o").DefValue {
		o.out = filepath.Join(o.dir, "before.md")
	}
	if o.quick {
		o.runs, *size, *big = 2, 8, 8
	}
	o.size, o.big = *size<<20, *big<<20
	var err error
	if o.rows, err = regexp.Compile(*rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	begin := time.Now()
	var results []*result
	for _, spec := range b.specs() {
		kept, err := b.recall(spec.name)
		if err != nil {
			return err
		}
		if !o.rows.MatchString(spec.name) || o.resume && kept != nil {
			if kept != nil {
				results = append(results, kept)
			}
			continue
		}
		r, err := spec.row(b)
		if err != nil {
			return fmt.Errorf("%s: %w", spec.name, err)
		}
		r.Name, r.Group = spec.name, spec.group
		if o.before != "" {
			if b.pairs(r); len(r.Tasks) == 0 {
				continue
			}
		} else if b.all > 2 {
			b.scale(r)
		}
		res, err := b.measure(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", spec.name, err)
		}
		fmt.Printf("%5.0fs  %s\n", time.Since(begin).Seconds(), res.line())
		for _, t := range res.Timings {
			if t.Profiled != "" {
				fmt.Printf("        %s: %s\n", t.Name, strings.ReplaceAll(strings.TrimSpace(t.Profiled), "\n", "\n        "))
			}
		}
		if err := b.keep(res); err != nil {
			return err
		}
		results = append(results, res)
	}
	f, err := os.Create(o.out)
	if err != nil {
		return err
	}
	b.report(f, results)
	fmt.Printf("%5.0fs  %s\n", time.Since(begin).Seconds(), o.out)
	return f.Close()
}

// bench is one execution of the program.
type bench struct {
	*options
	self    string
	data    string // directory
	peers   string // directory
	all     int    // number of workers if all cores are used
	field   *field
	scratch string // directory of files that runs write
}

func newBench(o *options) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, self: self, data: filepath.Join(dir, "data"), peers: dir, all: runtime.GOMAXPROCS(0), scratch: filepath.Join(dir, "scratch")}
	for _, d := range []string{b.data, b.results(), b.scratch} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
	}
	b.field, err = readField(filepath.Join(dir, "field.h5"))
	return b, err
}

// results returns the directory of finished rows. The sizes are part of its name, because rows of
// other data must not be mixed, and so is the comparison with an earlier commit.
func (b *bench) results() string {
	name := fmt.Sprintf("rows-%d-%d", b.size>>20, b.big>>20)
	if b.before != "" {
		name += "-before"
	}
	return filepath.Join(b.peers, name)
}

func (b *bench) recall(name string) (*result, error) {
	j, err := os.ReadFile(filepath.Join(b.results(), strings.ReplaceAll(name, "/", "_")+".json"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(result)
	return r, json.Unmarshal(j, r)
}

func (b *bench) keep(r *result) error {
	j, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.results(), strings.ReplaceAll(r.Name, "/", "_")+".json"), j, 0o666)
}

// outFile returns the path of a file that a run writes and that no other task writes.
func (b *bench) outFile(name string) string { return filepath.Join(b.scratch, name) }

// made returns a file of the data directory. It calls create if the file does not exist.
func (b *bench) made(name string, create func(path string) error) (string, error) {
	path := filepath.Join(b.data, fmt.Sprintf("%d-%s", b.size>>20, name))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	ext := filepath.Ext(name)
	tmp := strings.TrimSuffix(path, ext) + ".new" + ext
	if err := os.RemoveAll(tmp); err != nil {
		return "", err
	}
	if err := create(tmp); err != nil {
		return "", fmt.Errorf("make %s: %w", name, err)
	}
	return path, os.Rename(tmp, path)
}
