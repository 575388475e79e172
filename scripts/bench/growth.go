// Growth of cost with the chunk size, the number of chunks, and the number of goroutines that share
// a handle.

package main

import (
	"fmt"
	"math"

	"github.com/hyperslab/hyperslab/cblosc"
)

// growthRuns is the number of runs of each of these rows. Few suffice, because only the shape of
// the curve matters.
const growthRuns = 5

func (b *bench) growth() []spec {
	var s []spec
	sizes := []int64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20}
	numbers := []int64{100, 1000, 10_000, 100_000, 1_000_000}
	users := []int64{1, 2, 4, 8, 16, 32, 64}
	if b.quick {
		sizes, numbers, users = []int64{4 << 10, 4 << 20}, []int64{100, 1000}, []int64{1, 64}
	}
	add := func(group, name string, at int64, f func(*bench) (*row, error)) {
		s = append(s, spec{name, group, func(b *bench) (*row, error) {
			r, err := f(b)
			if err == nil && r.Runs == 0 {
				r.Runs = growthRuns
			}
			if err == nil {
				r.N = at
			}
			return r, err
		}})
	}
	for _, size := range sizes {
		x := sizeText(size)
		add(byChunk, "chunk/hdf5-read/"+x, size, func(b *bench) (*row, error) { return b.chunkRead(size, x) })
		add(byChunk, "chunk/hdf5-write/"+x, size, func(b *bench) (*row, error) { return b.chunkWrite(size, x) })
		add(byChunk, "chunk/frame-append/"+x, size, func(b *bench) (*row, error) { return b.chunkAppend(size, x) })
	}
	for _, n := range numbers {
		x := fmt.Sprint(n)
		add(byNumber, "number/frame-append/"+x, n, func(b *bench) (*row, error) { return b.numberAppend(n, x) })
		add(byNumber, "number/hdf5-write/"+x, n, func(b *bench) (*row, error) { return b.numberWrite(n, x) })
		add(byNumber, "number/frame-random/"+x, n, func(b *bench) (*row, error) { return b.numberRandom(n, x) })
	}
	for _, g := range users {
		x := fmt.Sprint(g)
		add(byUsers, "goroutines/frame-random/"+x, g, func(b *bench) (*row, error) { return b.usersRandom(g, x) })
		add(byUsers, "goroutines/hdf5-slices/"+x, g, func(b *bench) (*row, error) { return b.usersSlices(g, x) })
	}
	return s
}

func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// growthBytes returns the bytes of data in these rows.
func (b *bench) growthBytes() int64 { return min(b.bytes(real), 32<<20) &^ (1<<20 - 1) }

// lineFile returns a file with a dataset of one dimension in chunks of size bytes.
func (b *bench) lineFile(bytes, size int64) (string, error) {
	raw, err := b.raw(real)
	if err != nil {
		return "", err
	}
	return b.made(fmt.Sprintf("line-%d-%d.h5", bytes, size), func(path string) error {
		w, err := writeTask(&args{words: words(raw, path, "deflate", b.all, bytes/4, size/4)})
		if err == nil {
			_, err = w.run()
		}
		return err
	})
}

func (b *bench) chunkRead(size int64, x string) (*row, error) {
	n := b.growthBytes()
	file, err := b.lineFile(n, size)
	if err != nil {
		return nil, err
	}
	r := &row{X: x, Work: "read a dataset with shuffle and deflate 4", Bytes: n, Tasks: []task{b.c("C", "hdf5", "read", file, "d")}}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5read", file, "d", w))
	}
	return r, nil
}

func (b *bench) chunkWrite(size int64, x string) (*row, error) {
	raw, err := b.raw(real)
	if err != nil {
		return nil, err
	}
	n := b.growthBytes()
	r := &row{X: x, Work: "write a dataset with shuffle and deflate 4", Bytes: n,
		Tasks: []task{b.c("C", "hdf5", "write", raw, b.outFile("c.h5"), 4, 1, n/4, size/4)}}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5write", raw, b.outFile(fmt.Sprintf("go%d.h5", w)), "deflate", w, n/4, size/4))
	}
	return r, nil
}

func (b *bench) chunkAppend(size int64, x string) (*row, error) {
	n := b.growthBytes()
	r, err := b.append(real, n/size, size, "1", 0)
	if err != nil {
		return nil, err
	}
	r.X, r.Work, r.Compare = x, "append to a new frame, lz4", nil
	r.Tasks[0].Name = "C"
	return r, nil
}

// smallChunk is the size in bytes of the chunks in rows with up to a million chunks.
const smallChunk = 256

func (b *bench) numberAppend(n int64, x string) (*row, error) {
	r, err := b.append(real, n, smallChunk, "1", 0)
	if err != nil {
		return nil, err
	}
	r.X, r.Work, r.Compare = x, fmt.Sprintf("append chunks of %d bytes to a new frame, lz4", smallChunk), nil
	r.Tasks[0].Name = "C"
	if n > 10_000 {
		// The library compresses its whole index for each chunk, so the cost is quadratic in their
		// number.
		r.Tasks, r.Same = r.Tasks[1:], r.Same[:2]
	}
	return r, nil
}

func (b *bench) numberWrite(n int64, x string) (*row, error) {
	raw, err := b.raw(real)
	if err != nil {
		return nil, err
	}
	n = min(n, b.bytes(real)/smallChunk)
	elements := n * smallChunk / 4
	r := &row{X: x, Work: fmt.Sprintf("write chunks of %d bytes with shuffle and deflate 4", smallChunk), Bytes: 4 * elements, Ops: n,
		Tasks: []task{b.c("C", "hdf5", "write", raw, b.outFile("c.h5"), 4, 1, elements, smallChunk/4)}}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "h5write", raw, b.outFile(fmt.Sprintf("go%d.h5", w)), "deflate", w, elements, smallChunk/4))
	}
	if n > 100_000 {
		r.Runs = 2 // each run takes half a minute
	}
	return r, nil
}

func (b *bench) numberRandom(n int64, x string) (*row, error) {
	n = min(n, b.bytes(real)/smallChunk)
	file, err := b.frame(real, n, smallChunk, cblosc.LZ4)
	if err != nil {
		return nil, err
	}
	const count = 10000
	return &row{X: x, Work: fmt.Sprintf("%d random chunks of %d bytes of a frame", count, smallChunk), Bytes: count * smallChunk, Ops: count, Tasks: []task{
		b.c("C", "blosc2", "random", file, count), b.ours(named(1), "random", file, count, 1), b.ours(named(2), "random", file, count, 2)}}, nil
}

func (b *bench) usersRandom(g int64, x string) (*row, error) {
	const size, count = 4096, 20000
	n := min(20000, b.bytes(real)/size)
	file, err := b.frame(real, n, size, cblosc.LZ4)
	if err != nil {
		return nil, err
	}
	return &row{X: x, Work: fmt.Sprintf("%d random chunks of 4 KiB of a frame", count), Bytes: count * size, Ops: count, Tasks: []task{
		b.ours("ours", "random", file, count, g)}}, nil
}

func (b *bench) usersSlices(g int64, x string) (*row, error) {
	n := min(b.size, 128<<20)
	chunks := []int64{16, b.field.shape[1], b.field.shape[2]}
	file, err := b.hdf5File(real, n, "zstd", chunks)
	if err != nil {
		return nil, err
	}
	const count = 128
	box := []int64{2, b.field.shape[1] / 5, b.field.shape[2] / 5}
	return &row{X: x, Work: "128 random boxes of an HDF5 dataset with Blosc2 (zstd)", Bytes: count * 4 * whole(box).NumElems(), Ops: count, Tasks: []task{
		b.ours("ours", "h5slices", file, "d", 1, g, count, box)}}, nil
}

// growthOf describes how the time of one task changes from the first row of a table to the last:
// the power of x that fits best, by least squares of the logarithms. It returns "" for fewer than
// three rows.
func growthOf(rows []*result, way string) string {
	var x, y []float64
	var first, last, best *result
	at := func(r *result) float64 { return median(r.timing(way).Wall) }
	for _, r := range rows {
		if t := r.timing(way); t == nil || r.N <= 0 {
			continue
		}
		if first == nil {
			first, best = r, r
		}
		if at(r) < at(best) {
			best = r
		}
		last = r
		x, y = append(x, math.Log(float64(r.N))), append(y, math.Log(at(r)))
	}
	if len(x) < 3 {
		return ""
	}
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	power := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	kind := "stays about the same"
	switch {
	case power > 1.1:
		kind = "grows faster than in proportion"
	case power > 0.9:
		kind = "grows in proportion"
	case power > 0.1:
		kind = "grows slower than in proportion"
	case power < -0.1:
		kind = "falls"
	}
	return fmt.Sprintf("%s: the time %s, as the power %.2f; from %s to %s it is %.3g times as long, shortest at %s", way, kind, power, first.X, last.X,
		at(last)/at(first), best.X)
}
