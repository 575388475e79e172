// The tasks of this module.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/ndarray"
)

// tasks maps the names of tasks to functions that prepare them.
var tasks = map[string]func(*args) (*work, error){
	"h5read":     readTask,
	"h5write":    writeTask,
	"h5slices":   slicesTask,
	"h5small":    smallDatasetTask,
	"small":      smallArrayTask,
	"append":     appendTask,
	"random":     randomTask,
	"compress":   bufferTask,
	"decompress": bufferTask,
	"b2nd":       arrayTask,
	"b2ndslices": arraySlicesTask,
	"copy":       copyTask,
	"guarded":    guardedTask,
	"workers":    workersTask,
	"wait":       waitTask,
	"volume":     volumeTask,
	"checksum":   checksumTask,
}

// how returns the options for a number of workers; 0 means that the library does the work.
func how(workers int64) *chunkio.Options {
	return &chunkio.Options{Workers: int(workers), Library: workers == 0}
}

// withDataset opens a file for one run.
func withDataset(file, name string, f func(*h5.Dataset) error) (err error) {
	h, err := h5.Open(file, h5.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	d, err := h.Root().OpenDataset(name)
	if err != nil {
		return err
	}
	return f(d)
}

// readTask: FILE DATASET WORKERS reads a whole dataset. It reopens the file for each run.
func readTask(a *args) (*work, error) {
	file, name, workers := a.text(), a.text(), a.number()
	if a.err != nil {
		return nil, a.err
	}
	var dst []byte
	read := func() (string, error) {
		err := withDataset(file, name, func(d *h5.Dataset) error {
			info, err := d.Info()
			if err != nil {
				return err
			}
			r := whole(info.Space.Dims)
			if dst == nil {
				dst = make([]byte, r.NumElems()*int64(info.Datatype.Size))
			}
			stats, err := chunkio.Read(context.Background(), d, dst, info.Datatype, r, how(workers))
			return asked(err, stats, workers)
		})
		return "", err
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return &work{run: read, facts: checksum(dst)}, nil
}

// asked returns an error if the library did the work although workers were requested.
func asked(err error, s chunkio.Stats, workers int64) error {
	if err == nil && workers > 0 && s.Fallback != "" {
		err = fmt.Errorf("left to the library: %s", s.Fallback)
	}
	return err
}

// writeTask: RAW FILE FILTERS WORKERS SHAPE... CHUNK... writes a new file.
func writeTask(a *args) (*work, error) {
	raw, file, filters, workers := a.text(), a.text(), a.text(), a.number()
	dims := a.rest()
	if a.err != nil {
		return nil, a.err
	}
	shape, chunks := dims[:len(dims)/2], dims[len(dims)/2:]
	r := whole(shape)
	src, err := slurp(raw, 4*r.NumElems())
	if err != nil {
		return nil, err
	}
	return &work{before: func() error { return os.RemoveAll(file) }, run: func() (found string, err error) {
		f, err := h5.Create(file, nil)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		d, err := f.Root().CreateDataset("d", f4, h5.SimpleSpace(shape...), &h5.DatasetOptions{ChunkShape: chunks, Filters: storage(filters)})
		if err != nil {
			return "", err
		}
		stats, err := chunkio.Write(context.Background(), d, src, f4, r, how(workers))
		if err := asked(err, stats, workers); err != nil {
			return "", err
		}
		stored, _, err := d.Stored()
		return "stored=" + strconv.FormatInt(stored, 10), err
	}}, nil
}

// slicesTask: FILE DATASET WORKERS GOROUTINES COUNT BOX... reads COUNT random boxes, distributed
// over the goroutines.
func slicesTask(a *args) (*work, error) {
	file, name, workers, goroutines, count := a.text(), a.text(), a.number(), a.number(), a.number()
	box := a.rest()
	if a.err != nil {
		return nil, a.err
	}
	run := func() (string, error) {
		sum := uint64(0)
		err := withDataset(file, name, func(d *h5.Dataset) error {
			info, err := d.Info()
			if err != nil {
				return err
			}
			starts := boxesOf(info.Space.Dims, box, count)
			var parts []uint64
			parts, err = shareOut(goroutines, count, func(dst []byte, k int64) (uint64, error) {
				stats, err := chunkio.Read(context.Background(), d, dst, info.Datatype, h5.Region{Start: starts[k], Count: box}, how(workers))
				return firstWord(dst), asked(err, stats, workers)
			}, 4*whole(box).NumElems())
			for _, p := range parts {
				sum += p
			}
			return err
		})
		return "sum=" + strconv.FormatUint(sum, 10), err
	}
	return &work{run: run}, nil
}

// smallDatasetTask: FILE DATASET COUNT ELEMENTS reads ELEMENTS elements at COUNT random places of a
// dataset of one dimension with package h5. Every run opens the file.
func smallDatasetTask(a *args) (*work, error) {
	file, name, count, elements := a.text(), a.text(), a.number(), a.number()
	if a.err != nil {
		return nil, a.err
	}
	return &work{run: func() (string, error) {
		sum := uint64(0)
		err := withDataset(file, name, func(d *h5.Dataset) error {
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum, err = smallReads(info.Space.Dims[0], count, elements, func(dst []byte, at []int64) error {
				return d.ReadRegion(dst, info.Datatype, h5.Region{Start: at, Count: []int64{elements}})
			})
			return err
		})
		return "sum=" + strconv.FormatUint(sum, 10), err
	}}, nil
}

// smallArrayTask: LOCATION COUNT ELEMENTS does the same with package ndarray.
func smallArrayTask(a *args) (*work, error) {
	location, count, elements := a.text(), a.number(), a.number()
	if a.err != nil {
		return nil, a.err
	}
	return &work{run: func() (_ string, err error) {
		ctx := context.Background()
		x, err := hyperslab.Open(ctx, location, nil)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		sum, err := smallReads(x.Shape()[0], count, elements, func(dst []byte, at []int64) error {
			return x.Read(ctx, dst, ndarray.Region{Start: at, Shape: []int64{elements}})
		})
		return "sum=" + strconv.FormatUint(sum, 10), err
	}}, nil
}

// smallReads calls read for elements at random places among n, and returns the sum of the first
// words.
func smallReads(n, count, elements int64, read func(dst []byte, at []int64) error) (sum uint64, err error) {
	places := random(1)
	dst := make([]byte, 4*elements)
	at := []int64{0}
	for range count {
		at[0] = places.draw(n - elements + 1)
		if err := read(dst, at); err != nil {
			return 0, err
		}
		sum += firstWord(dst)
	}
	return sum, nil
}

func boxesOf(shape, box []int64, count int64) [][]int64 {
	r := random(1)
	starts := make([][]int64, count)
	for k := range starts {
		for i, n := range shape {
			starts[k] = append(starts[k], r.draw(n-box[i]+1))
		}
	}
	return starts
}

func firstWord(b []byte) uint64 {
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
}

// shareOut calls f for all numbers below count on that many goroutines, each with its own buffer,
// and returns the sum of the results of each goroutine. A goroutine takes a few numbers at a time,
// so that it is not idle while another one on a slower core has much work left.
func shareOut(goroutines, count int64, f func(dst []byte, k int64) (uint64, error), buffer int64) ([]uint64, error) {
	batch := min(max(count/goroutines/8, 1), 16)
	sums, errs := make([]uint64, goroutines), make([]error, goroutines)
	var next atomic.Int64
	var g sync.WaitGroup
	for i := range goroutines {
		g.Go(func() {
			dst := make([]byte, buffer)
			for {
				end := next.Add(batch)
				for k := end - batch; k < min(end, count); k++ {
					v, err := f(dst, k)
					if err != nil {
						errs[i] = err
						return
					}
					sums[i] += v
				}
				if end >= count {
					return
				}
			}
		})
	}
	g.Wait()
	return sums, errors.Join(errs...)
}

// appendTask: RAW BYTES SIZE CODEC LEVEL OUT WORKERS SYNCED writes a new frame chunk by chunk: to
// an open file, as the library does, or, with SYNCED 1, to a temporary file that is synced and
// renamed.
func appendTask(a *args) (*work, error) {
	raw, bytes, size := a.text(), a.number(), a.number()
	p, err := params(a)
	out, workers, synced := a.text(), a.number(), a.number()
	if err = errors.Join(a.err, err); err != nil {
		return nil, err
	}
	src, err := slurp(raw, bytes)
	if err != nil {
		return nil, err
	}
	fill := func(w *frameio.Writer) error {
		for at := int64(0); at < int64(len(src)); at += size {
			if _, err := w.Write(src[at : at+size]); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		return errors.Join(w.Commit(), w.Close())
	}
	o := &frameio.Params{CParams: p, ChunkSize: int(size), Workers: int(workers)}
	return &work{before: func() error { return os.RemoveAll(out) }, run: func() (string, error) {
		if synced != 0 {
			w, err := frameio.Create(out, o)
			if err == nil {
				err = fill(w)
			}
			return storedBytes(out, err)
		}
		f, err := os.Create(out)
		if err != nil {
			return "", err
		}
		w, err := frameio.NewWriter(f, o)
		if err == nil {
			err = fill(w)
		}
		return storedBytes(out, errors.Join(err, f.Close()))
	}}, nil
}

// storedBytes returns the length of a file that was written without an error.
func storedBytes(path string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return "stored=" + strconv.FormatInt(info.Size(), 10), nil
}

func params(a *args) (*cblosc.CParams, error) {
	codec, level := a.text(), a.number()
	p := cblosc.DefaultCParams()
	c, err := cblosc.ParseCodec(codec)
	p.Codec, p.Level, p.TypeSize = c, int(level), 4
	return p, err
}

// randomTask: FRAME COUNT GOROUTINES reads COUNT random chunks on one handle.
func randomTask(a *args) (*work, error) {
	path, count, goroutines := a.text(), a.number(), a.number()
	if a.err != nil {
		return nil, a.err
	}
	f, err := frameio.Open(path, nil)
	if err != nil {
		return nil, err
	}
	r := random(1)
	chunks := make([]int64, count)
	for i := range chunks {
		chunks[i] = r.draw(f.NumChunks())
	}
	return &work{run: func() (string, error) {
		sums, err := shareOut(goroutines, count, func(dst []byte, k int64) (uint64, error) {
			_, err := f.Decompress(dst, chunks[k])
			return uint64(dst[0]), err
		}, int64(f.ChunkSize()))
		sum := uint64(0)
		for _, s := range sums {
			sum += s
		}
		return "sum=" + strconv.FormatUint(sum, 10), err
	}}, nil
}

// bufferTask: compress or decompress RAW BYTES SIZE CODEC LEVEL ROUNDS WORKERS processes all
// buffers of SIZE bytes ROUNDS times. With WORKERS 0 it makes one call per buffer, otherwise one
// batch: on one context with 1, on GOMAXPROCS contexts with more.
func bufferTask(a *args) (*work, error) {
	direction := a.text()
	raw, bytes, size := a.text(), a.number(), a.number()
	p, err := params(a)
	rounds, workers := a.number(), a.number()
	if err = errors.Join(a.err, err); err != nil {
		return nil, err
	}
	data, err := slurp(raw, bytes)
	if err != nil {
		return nil, err
	}
	src, err := cblosc.NewBatch(data[:int64(len(data))/size*size], int(size))
	if err != nil {
		return nil, err
	}
	compress, decompress, err := batches(p, workers)
	if err != nil {
		return nil, err
	}
	chunks, back := new(cblosc.Batch), new(cblosc.Batch)
	if err := compress(chunks, src); err != nil {
		return nil, err
	}
	once := func() error { return compress(chunks, src) }
	stored := func() string { return fmt.Sprintf("stored=%d", len(chunks.Bytes())) }
	switch {
	case workers > 0 && direction == "decompress":
		once, stored = func() error { return decompress(back, chunks) }, func() string { return "" }
	case workers > 0:
	case direction == "decompress":
		d, err := cblosc.NewDecompressor(nil)
		if err != nil {
			return nil, err
		}
		dst := make([]byte, len(data))
		once, stored = func() error {
			for i := range chunks.Len() {
				if _, err := d.Decompress(dst[int64(i)*size:], chunks.Item(i)); err != nil {
					return err
				}
			}
			return nil
		}, func() string { return "" }
	default:
		c, err := cblosc.NewCompressor(p)
		if err != nil {
			return nil, err
		}
		dst := make([]byte, 2*len(data)+cblosc.MaxCompressedSize(int(size)))
		total := 0
		once, stored = func() error {
			total = 0
			for i := range src.Len() {
				n, err := c.Compress(dst[total:], src.Item(i))
				if err != nil {
					return err
				}
				total += n
			}
			return nil
		}, func() string { return fmt.Sprintf("stored=%d", total) }
	}
	return &work{run: func() (string, error) {
		for range rounds {
			if err := once(); err != nil {
				return "", err
			}
		}
		return stored(), nil
	}}, nil
}

// batches returns the calls for many buffers: of one context for at most one worker, otherwise of a
// pool.
func batches(p *cblosc.CParams, workers int64) (compress, decompress func(dst, src *cblosc.Batch) error, err error) {
	if workers > 1 {
		pool, err := cblosc.NewPool(p, nil)
		if err != nil {
			return nil, nil, err
		}
		return pool.CompressBatch, pool.DecompressBatch, nil
	}
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		return nil, nil, err
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c.CompressBatch, d.DecompressBatch, nil
}

// arrayTask: FILE WORKERS reads a whole b2nd array.
func arrayTask(a *args) (*work, error) {
	file, workers := a.text(), a.number()
	if a.err != nil {
		return nil, a.err
	}
	var dst []byte
	read := func() (_ string, err error) {
		x, err := frameio.OpenArray(file)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		shape := x.Shape()
		if dst == nil {
			dst = make([]byte, whole(shape).NumElems()*int64(x.ItemSize()))
		}
		return "", x.ReadRegion(context.Background(), dst, make([]int64, len(shape)), shape, int(workers))
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return &work{run: read, facts: checksum(dst)}, nil
}

// arraySlicesTask: FILE WORKERS GOROUTINES COUNT BOX... reads COUNT random boxes of a b2nd array on
// one handle. With WORKERS 0 the library reads them.
func arraySlicesTask(a *args) (*work, error) {
	file, workers, goroutines, count := a.text(), a.number(), a.number(), a.number()
	box := a.rest()
	if a.err != nil {
		return nil, a.err
	}
	var read func(dst []byte, start []int64) error
	var shape []int64
	if workers == 0 {
		x, err := cblosc.OpenArray(file)
		if err != nil {
			return nil, err
		}
		shape = x.Shape()
		read = func(dst []byte, start []int64) error { return x.ReadRegion(dst, start, box) }
	} else {
		x, err := frameio.OpenArray(file)
		if err != nil {
			return nil, err
		}
		shape = x.Shape()
		read = func(dst []byte, start []int64) error {
			return x.ReadRegion(context.Background(), dst, start, box, int(workers))
		}
	}
	starts := boxesOf(shape, box, count)
	return &work{run: func() (string, error) {
		sums, err := shareOut(goroutines, count, func(dst []byte, k int64) (uint64, error) {
			err := read(dst, starts[k])
			return firstWord(dst), err
		}, 4*whole(box).NumElems())
		sum := uint64(0)
		for _, s := range sums {
			sum += s
		}
		return "sum=" + strconv.FormatUint(sum, 10), err
	}}, nil
}

// copyTask: FROM TO CODEC WORKERS CHUNK... copies an array to a new file. The default chunk shape
// is the source's.
func copyTask(a *args) (*work, error) {
	from, to, codec, workers := a.text(), a.text(), a.text(), a.number()
	chunks := a.rest()
	if a.err != nil {
		return nil, a.err
	}
	return &work{run: func() (string, error) {
		stats, err := convert(context.Background(), from, to, codec, int(workers), chunks)
		return fmt.Sprintf("buffers=%d stages=%d units=%d chunks=%s", stats.PeakBuffer, stats.Stages, stats.Units, strings.Join(words(chunks), "x")), err
	}}, nil
}

// guarded opens an untrusted array: "on" requires a worker, "off" forbids one.
func guarded(location, isolation string) (*ndarray.Array, error) {
	u := hyperslab.Untrusted{FullIsolation: isolation != "off", InProcess: isolation == "off"}
	return hyperslab.Open(context.Background(), location, &hyperslab.OpenOptions{Untrusted: &u})
}

// guardedTask: LOCATION on|off opens an untrusted array and reads all of it.
func guardedTask(a *args) (*work, error) {
	location, isolation := a.text(), a.text()
	if a.err != nil {
		return nil, a.err
	}
	var dst []byte
	read := func() (_ string, err error) {
		g, err := guarded(location, isolation)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
		if dst == nil {
			dst = make([]byte, g.NBytes())
		}
		return "", g.Read(context.Background(), dst, ndarray.Whole(g.Shape()))
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return &work{run: read, facts: checksum(dst)}, nil
}

// workersTask: LOCATION COUNT on|off opens and closes an untrusted array COUNT times.
func workersTask(a *args) (*work, error) {
	location, count, isolation := a.text(), a.number(), a.text()
	return &work{run: func() (string, error) {
		for range count {
			g, err := guarded(location, isolation)
			if err == nil {
				err = g.Close()
			}
			if err != nil {
				return "", err
			}
		}
		return "", nil
	}}, a.err
}

// waitTask: MICROSECONDS sleeps that long.
func waitTask(a *args) (*work, error) {
	n := a.number()
	return &work{run: func() (string, error) {
		time.Sleep(time.Duration(n) * time.Microsecond)
		return "", nil
	}}, a.err
}
