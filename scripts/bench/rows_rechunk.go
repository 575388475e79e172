// Rows of storage: many small chunks that become large ones, and checksums of b2nd.

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Shapes of a matrix of counts, for example of genes and cells: its chunks are parts of one column,
// and become some whole columns.
const (
	countRows  = 67_186
	countChunk = 2_000
	countWide  = 10
)

// countColumns returns the number of columns: 20,000, in 680,000 chunks, if the big files have
// 1 GiB.
func (b *bench) countColumns() int64 { return max(20_000*(b.big>>20)/1024, 40) / countWide * countWide }

// countsFile returns the matrix of counts: mostly zeros, and small numbers.
func (b *bench) countsFile() (string, error) {
	n := b.countColumns()
	return b.made(fmt.Sprintf("counts-%d.h5", n), func(path string) error {
		ctx := context.Background()
		spec := ndarray.Spec{Shape: []int64{countRows, n}, DType: ndarray.DTypeOf[uint32](), ChunkShape: []int64{countChunk, 1},
			Compression: &ndarray.Compression{Codec: "deflate", Level: 4}}
		d, err := hyperslab.Create(ctx, path+":/counts", spec, nil)
		if err != nil {
			return err
		}
		r := random(1)
		values := make([]byte, countRows*countWide*4)
		for at := int64(0); at < n && err == nil; at += countWide {
			for i := 0; i < len(values); i += 4 {
				v := uint32(0)
				if r.draw(10) == 0 {
					v = uint32(r.draw(50))
				}
				binary.LittleEndian.PutUint32(values[i:], v)
			}
			err = d.Write(ctx, values, ndarray.Region{Start: []int64{0, at}, Shape: []int64{countRows, countWide}})
		}
		if err == nil {
			err = d.Commit(ctx)
		}
		return errors.Join(err, d.Close())
	})
}

// rechunkPeak is the maximum memory of rechunking.
const rechunkPeak = 1 << 30

// rechunk gives the matrix of counts larger chunks: as HDF5, beside h5repack and a script, or as
// b2nd, by one command and by a plan in two processes.
func (b *bench) rechunk(to string) (*row, error) {
	file, err := b.countsFile()
	if err != nil {
		return nil, err
	}
	n := b.countColumns()
	chunks := fmt.Sprintf("%d,%d", countRows, countWide)
	out := func(name string) string { return b.outFile(name + "." + to) }
	object := map[string]string{"h5": ":/counts"}[to]
	const one, planned = "hyperslab convert", "hyperslab plan, 2 processes"
	plan := b.outFile("plan.json")
	compact := map[string]string{"h5": "--compact"}[to]
	script := strings.NewReplacer("COMPACT", compact, "HYPERSLAB", command, "PLAN", plan, "SOURCE", file+":/counts", "TARGET", out("planned")+object, "CHUNKS", chunks,
		"BYTES", fmt.Sprint(4*countRows*grid.RoundUp(n/2, countWide, n))).Replace(
		"rm -rf PLAN && HYPERSLAB plan convert SOURCE TARGET --chunks CHUNKS COMPACT --shard-bytes BYTES -o PLAN >/dev/null &&" +
			" { HYPERSLAB work PLAN --shard 0/2 -q & HYPERSLAB work PLAN --shard 1/2 -q; wait; } && HYPERSLAB commit PLAN -q")
	r := &row{Bytes: 4 * countRows * n, Work: fmt.Sprintf("%d chunks of %d x 1 32-bit integers with deflate become %d of %d x %d, as %s",
		n*grid.DivUp[int64](countRows, countChunk), countChunk, n/countWide, countRows, countWide, to),
		Tasks: []task{
			b.once(one, out("convert"), command, "convert", file+":/counts", out("convert")+object, "--chunks", chunks, "--quiet"),
			b.once(planned, out("planned"), "sh", "-c", script),
		},
		Peak: map[string]int64{one: rechunkPeak, planned: rechunkPeak},
	}
	if to == "h5" {
		const repack, peer = "h5repack", "h5py script"
		wide := fmt.Sprintf("counts:CHUNK=%dx%d", countRows, countWide)
		tool := b.once(repack, out("h5repack"), tool("h5repack"), "-l", wide, file, out("h5repack"))
		tool.Runs = 1 // it takes minutes
		r.Tasks = append(r.Tasks, tool, b.once(peer, out("script"), b.python, filepath.Join("scripts", "bench", "peers", "volume.py"), "rechunk", file, out("script")))
		r.Compare = []compare{{repack, one, 25}, {peer, one, 3}, {repack, planned, 0}, {peer, planned, 0}}
	}
	return r, nil
}

// checksum writes and reads the volume as b2nd with and without checksums, by one worker.
func (b *bench) checksum(codec string) (*row, error) {
	raw, err := b.volumeRaw()
	if err != nil {
		return nil, err
	}
	n := b.volumeEdge()
	r := &row{Processor: true, Bytes: 2 * n * n * n, Work: fmt.Sprintf("write and read %d³ 16-bit integers as b2nd with %s and a checksum of each chunk", n, codec)}
	r.Note = "Half of the bytes of the volume are noise, which both codecs store, so that a read decodes 4 GB/s. " +
		"The processor computes the CRC-32C of about 24 GB/s of stored bytes in its cache: 6 to 9 % of such a read."
	for _, operation := range []string{"write", "read"} {
		for _, sum := range []string{"without", "with"} {
			path := b.outFile(operation + "-" + sum + "-" + codec + ".b2nd")
			r.Tasks = append(r.Tasks, b.ours(operation+" "+sum, "checksum", operation, sum, codec, raw, n, path).writes(path))
		}
		r.Compare = append(r.Compare, compare{operation + " without", operation + " with", 0.98}) // at most 2 % more
	}
	return r, nil
}

// checksumTask: write|read with|without CODEC RAW EDGE OUT writes the volume to a new file, or
// reads it.
func checksumTask(a *args) (*work, error) {
	operation, sum, codec, raw, n, path := a.text(), a.text(), a.text(), a.text(), a.number(), a.text()
	if a.err != nil {
		return nil, a.err
	}
	ctx := context.Background()
	values, err := slurp(raw, 2*n*n*n)
	if err != nil {
		return nil, err
	}
	c := &ndarray.Compression{Codec: codec, Level: map[string]int{"lz4": 5, "zstd": 1}[codec], Filters: []string{"shuffle"}}
	if sum == "with" {
		c.Filters = append(c.Filters, "crc32c")
	}
	spec := ndarray.Spec{Shape: []int64{n, n, n}, DType: ndarray.DTypeOf[uint16](), ChunkShape: []int64{volumeChunk, volumeChunk, volumeChunk}, Compression: c}
	write := func() (string, error) {
		d, err := hyperslab.Create(ctx, path, spec, &hyperslab.CreateOptions{Overwrite: true})
		if err != nil {
			return "", err
		}
		d.SetWorkers(1)
		err = d.Write(ctx, values, ndarray.Whole(spec.Shape))
		if err == nil {
			err = d.Commit(ctx)
		}
		return "", errors.Join(err, d.Close())
	}
	if operation == "write" {
		return &work{run: write}, nil
	}
	if _, err := write(); err != nil {
		return nil, err
	}
	return &work{run: func() (_ string, err error) {
		x, err := hyperslab.Open(ctx, path, &hyperslab.OpenOptions{Checksums: sum == "with"})
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		x.SetWorkers(1)
		return "", x.Read(ctx, values, ndarray.Whole(x.Shape()))
	}}, nil
}
