// Command remote measures reads of URLs through a server with latency and a bandwidth limit: the
// hyperslab command, h5py with fsspec and with s3fs, and python-blosc2. scripts/nightly.sh remote
// calls it.
//
// The time of the hyperslab command is that of the whole process. The times of Python and of the Go
// library exclude the start of the program and the imports.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

type options struct {
	dir, command, python, out string
	latency                   time.Duration
	rate                      float64 // bytes per second
	size                      int64   // bytes of the large dataset
	runs                      int
	only                      string
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", ".bench/remote", "directory of the data")
	flag.StringVar(&o.command, "command", ".bench/hyperslab", "the hyperslab command")
	flag.StringVar(&o.python, "python", os.Getenv("HYPERSLAB_REMOTE_PYTHON"), "interpreter with h5py, fsspec, s3fs, aiohttp and blosc2")
	flag.StringVar(&o.out, "o", "", "file for the table; default: standard output")
	flag.DurationVar(&o.latency, "latency", 30*time.Millisecond, "latency of each request")
	mb := flag.Float64("rate", 125, "bandwidth of all connections together, MB/s")
	mib := flag.Int64("size", 1024, "MiB of the large dataset")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; the table has their median")
	flag.StringVar(&o.only, "only", "", "only rows whose name contains this text")
	flag.Parse()
	o.rate, o.size = *mb*1e6, *mib<<20
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

// task is a group of rows of the table: the arguments of the hyperslab command, in which @ is the
// URL of the server, and the task of each peer. The task is also measured with an index of file, if
// it is not "". The Go library lists the files too.
type task struct {
	name string
	args []string
	peer string // task of h5py, or of python-blosc2 for a b2nd file
	file string

	// Minimum of any program: requests that must follow each other, and received bytes.
	trips int
	bytes int64
}

func run(ctx context.Context, o *options) error {
	if err := data(ctx, o); err != nil {
		return err
	}
	s, err := newServer(o.dir, o.latency, o.rate)
	if err != nil {
		return err
	}
	defer s.close()
	tasks := []task{
		// The metadata of the first file is between all its elements, so that reading the whole
		// file takes less time than another round trip.
		{"list 1,000 datasets of 4 kB", []string{"ls", "-r", "@/list.h5"}, "list", "list.h5", 1, 4_394_768},
		{"list 1,000 datasets of 256 KiB", []string{"ls", "-r", "@/wide.h5"}, "wide", "wide.h5", 3, 512 << 10},
		// The beginning, a node of the chunk index, and 30 rows of 2 KiB in each of 64 planes.
		{"region of 16 chunks", []string{"stats", "--bins", "0", "@/big.h5:/x[0:64,10:40,10:40]"}, "region", "", 3, 64 * 30 << 11},
		{"region of 16 chunks, b2nd", []string{"stats", "--bins", "0", "@/big.b2nd[0:64,10:40,10:40]"}, "region", "", 3, 64 * 30 << 11},
		{"region of 64 chunks of 64 KiB", []string{"stats", "--bins", "0", "@/series.h5:/x[:256,10:40,10:40]"}, "series", "series.h5", 4, 64 << 16},
		{"full read", []string{"stats", "--bins", "0", "@/big.h5:/x"}, "full", "", 1, o.size},
		{"full read, histogram", []string{"stats", "@/big.h5:/x"}, "histogram", "", 1, o.size},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Latency %v, bandwidth %.0f MB/s, dataset of %d MiB in chunks of 2 MiB, %d processors, medians of %d runs.\n\n", o.latency, o.rate/1e6, o.size>>20, runtime.GOMAXPROCS(0), o.runs)
	fmt.Fprintf(&b, "| task | program | seconds | requests | MB | part of the bandwidth | times the minimum |\n|---|---|---|---|---|---|---|\n")
	for _, t := range tasks {
		if !strings.Contains(t.name, o.only) {
			continue
		}
		if err := row(ctx, o, s, &b, t, "hyperslab", func() (float64, error) { return own(ctx, o, s, t.args) }); err != nil {
			return err
		}
		if t.file != "" {
			index, err := indexOf(ctx, o, s, t.file)
			if err != nil {
				return err
			}
			args := append(slices.Clone(t.args), "--url-index", index)
			if err := row(ctx, o, s, &b, t, "hyperslab, index", func() (float64, error) { return own(ctx, o, s, args) }); err != nil {
				return err
			}
			if t.args[0] == "ls" {
				if err := errors.Join(
					row(ctx, o, s, &b, t, "Go library", func() (float64, error) { return walk(ctx, s.url+"/"+t.file, "") }),
					row(ctx, o, s, &b, t, "Go library, index", func() (float64, error) { return walk(ctx, s.url+"/"+t.file, index) }),
				); err != nil {
					return err
				}
			}
		}
		if o.python == "" {
			continue
		}
		peers := []string{"h5py", "h5py-blocks", "h5py-s3fs"}
		if strings.HasSuffix(t.name, "b2nd") {
			peers = []string{"blosc2"}
		}
		for _, name := range peers {
			if err := row(ctx, o, s, &b, t, name, func() (float64, error) { return peer(ctx, o, s, name, t.peer) }); err != nil {
				return err
			}
		}
	}
	if o.out == "" {
		_, err = os.Stdout.WriteString(b.String())
		return err
	}
	return os.WriteFile(o.out, []byte(b.String()), 0o600)
}

// row measures a program and writes its line.
func row(ctx context.Context, o *options, s *server, w io.Writer, t task, program string, f func() (float64, error)) error {
	var seconds []float64
	var requests, bytes int64
	for range o.runs {
		before, sent := s.requests.Load(), s.sent.Load()
		x, err := f()
		if err != nil {
			return fmt.Errorf("%s, %s: %w", t.name, program, err)
		}
		seconds = append(seconds, x)
		requests, bytes = s.requests.Load()-before, s.sent.Load()-sent
	}
	slices.Sort(seconds)
	median := seconds[len(seconds)/2]
	least := float64(t.trips)*o.latency.Seconds() + float64(t.bytes)/s.rate
	_, err := fmt.Fprintf(w, "| %s | %s | %.3f | %d | %.1f | %.0f %% | %.1f |\n", t.name, program, median, requests, float64(bytes)/1e6, 100*float64(bytes)/median/s.rate, median/least)
	fmt.Fprintf(os.Stderr, "%s, %s: %.2f s, %d requests, %.1f MB\n", t.name, program, median, requests, float64(bytes)/1e6)
	return cmp.Or(err, ctx.Err())
}

// own returns the duration of the hyperslab command.
func own(ctx context.Context, o *options, s *server, args []string) (float64, error) {
	args = append(slices.Clone(args), "--allow-private")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@", s.url)
	}
	c := exec.CommandContext(ctx, o.command, args...)
	c.Stderr = os.Stderr
	since := time.Now()
	_, err := c.Output()
	return time.Since(since).Seconds(), err
}

// indexOf writes the index of a file, and returns its path.
func indexOf(ctx context.Context, o *options, s *server, file string) (string, error) {
	index := filepath.Join(o.dir, file+".index")
	c := exec.CommandContext(ctx, o.command, "index", s.url+"/"+file, "-o", index, "-f", "--allow-private")
	c.Stderr = os.Stderr
	return index, c.Run()
}

// walk returns the duration of a listing by the Go library with a new client.
func walk(ctx context.Context, url, index string) (float64, error) {
	since := time.Now()
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	defer remote.DefaultClient.CloseIdle()
	if index != "" {
		if err := remote.DefaultClient.UseIndex(index, url); err != nil {
			return 0, err
		}
	}
	n := 0
	for e, err := range hyperslab.Walk(ctx, url, nil) {
		if err := cmp.Or(err, e.Err); err != nil {
			return 0, err
		}
		n++
	}
	if n != 1001 {
		return 0, fmt.Errorf("%s: got %d objects, want 1001", url, n)
	}
	return time.Since(since).Seconds(), nil
}

// peer returns the duration that a peer reports.
func peer(ctx context.Context, o *options, s *server, name, job string) (float64, error) {
	c := exec.CommandContext(ctx, o.python, "scripts/bench/remote/peer.py", name, job, s.url)
	c.Stderr = os.Stderr
	text, err := c.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}

// data creates the files that do not exist yet.
func data(ctx context.Context, o *options) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	for name, create := range map[string]func(string) error{
		"list.h5":   func(name string) error { return createList(name, 1000) },
		"wide.h5":   func(name string) error { return createList(name, 64<<10) },
		"big.h5":    func(name string) error { return createBig(ctx, name+":/x", o.size, 256, 512) },
		"big.b2nd":  func(name string) error { return createBig(ctx, name, o.size, 256, 512) },
		"series.h5": func(name string) error { return createBig(ctx, name+":/x", o.size, 64, 64) },
	} {
		name = filepath.Join(o.dir, name)
		if _, err := os.Stat(name); err == nil {
			continue
		}
		if err := create(name); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// createList writes 1,000 datasets of n elements.
func createList(name string, n int64) error {
	f, err := h5.Create(name, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	values := make([]byte, 4*n)
	for i := range 1000 {
		d, err := f.Root().CreateDataset(fmt.Sprintf("dataset%04d", i), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(n), nil)
		if err != nil {
			return err
		}
		err = cmp.Or(d.WriteRegion(values, h5.Int(4, h5.LittleEndian), h5.Region{Start: []int64{0}, Count: []int64{n}}), d.Close())
		if err != nil {
			return err
		}
	}
	return f.Close()
}

// createBig writes an array of random float32 in chunks of 4 x a x b elements without compression.
func createBig(ctx context.Context, location string, size, a, b int64) error {
	const side = 512
	rows := size / (4 * side * side)
	spec := ndarray.Spec{Shape: []int64{rows, side, side}, ChunkShape: []int64{4, a, b}, DType: ndarray.DTypeOf[float32](), Compression: &ndarray.Compression{Codec: "none"}}
	d, err := hyperslab.Create(ctx, location, spec, nil)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, 4*side*side)
	for at := int64(0); at < rows; at += 4 {
		for i := range values {
			values[i] = r.Float32()
		}
		if err := ndarray.Write(ctx, d.Array, values, ndarray.Region{Start: []int64{at, 0, 0}, Shape: []int64{4, side, side}}); err != nil {
			return cmp.Or(err, d.Close())
		}
	}
	return d.Commit(ctx)
}
