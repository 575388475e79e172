// Rows of the volume: one array of 16-bit integers in HDF5, b2nd and sharded Zarr, which other
// libraries for these formats read too. `make peers-bench` installs them.

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// volumeChunk is the edge of a chunk of the volume, and volumeShard that of a shard of Zarr.
const (
	volumeChunk = 64
	volumeShard = 256
)

// volumeObject is the dataset of the volume in HDF5.
const volumeObject = ":/v"

// volumeEdge returns the edge of the volume.
func (b *bench) volumeEdge() int64 {
	if b.quick {
		return 128
	}
	return 512
}

// volumeRaw returns a file with the values: a smooth field with three noisy bits.
func (b *bench) volumeRaw() (string, error) {
	n := b.volumeEdge()
	return b.made(fmt.Sprintf("volume-%d.raw", n), func(path string) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		r := random(1)
		var v [2]byte
		for i := range n * n * n {
			x, y, z := i/n/n, i/n%n, i%n
			binary.LittleEndian.PutUint16(v[:], uint16(x*y/64+3*z+r.draw(8)))
			if _, err = w.Write(v[:]); err != nil {
				break
			}
		}
		return errors.Join(err, w.Flush(), f.Close())
	})
}

// volumeFormats are the ways to store the volume, with the libraries that read each.
var volumeFormats = []struct {
	name, file  string
	compression *ndarray.Compression
	peers       []string
}{
	{"hdf5-deflate", "volume-deflate.h5:/v", &ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}, []string{"h5py", "netCDF4", "hidefix"}},
	{"hdf5-zstd", "volume-zstd.h5:/v", &ndarray.Compression{Codec: "zstd", Level: 1, Filters: []string{"shuffle"}}, []string{"h5py"}},
	{"hdf5-blosc2", "volume-blosc2.h5:/v", &ndarray.Compression{Codec: "blosc2/zstd", Level: 1, Filters: []string{"shuffle"}}, []string{"h5py", "b2h5py"}},
	{"b2nd", "volume.b2nd", &ndarray.Compression{Codec: "zstd", Level: 1, Filters: []string{"shuffle"}}, []string{"blosc2"}},
}

// zarrPeers read the volume as Zarr, for the comparison with all formats.
var zarrPeers = []string{"zarr", "zarrs", "tensorstore"}

// volumeFile returns the location of the volume in a format. If c is nil, zarr-python writes it.
func (b *bench) volumeFile(file string, c *ndarray.Compression) (string, error) {
	raw, err := b.volumeRaw()
	if err != nil {
		return "", err
	}
	n := b.volumeEdge()
	name, isObject := strings.CutSuffix(file, volumeObject)
	object := ""
	if isObject {
		object = volumeObject
	}
	path, err := b.made(fmt.Sprintf("%d-%s", n, name), func(path string) error {
		if c == nil {
			cmd := exec.Command(b.volumePython(), filepath.Join("scripts", "bench", "peers", "volume.py"), "zarr", raw, strconv.FormatInt(n, 10),
				strconv.Itoa(volumeChunk), strconv.FormatInt(min(volumeShard, n), 10), path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}
		values, err := slurp(raw, 2*n*n*n)
		if err != nil {
			return err
		}
		spec := ndarray.Spec{Shape: []int64{n, n, n}, DType: ndarray.DTypeOf[uint16](), ChunkShape: []int64{volumeChunk, volumeChunk, volumeChunk}, Compression: c}
		d, err := hyperslab.Create(context.Background(), path+object, spec, nil)
		if err != nil {
			return err
		}
		err = d.Write(context.Background(), values, ndarray.Whole(spec.Shape))
		if err == nil {
			err = d.Commit(context.Background())
		}
		return errors.Join(err, d.Close())
	})
	return path + object, err
}

// volumePython returns the interpreter of `make peers-bench`, or "".
func (b *bench) volumePython() string {
	path := filepath.Join(".venv-bench", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// volumeBars are the bars by format, operation and peer. Those for boxes are for processor time.
var volumeBars = map[string]float64{
	"hdf5-zstd/whole/zarrs": 2, "hdf5-zstd/whole/tensorstore": 2, "b2nd/whole/zarrs": 2, "b2nd/whole/tensorstore": 2,
	"b2nd/whole/blosc2": 1.5, "hdf5-deflate/whole/hidefix": 1,
	"hdf5-deflate/boxes/h5py": 1.5, "hdf5-zstd/boxes/tensorstore": 1.2, "b2nd/boxes/blosc2": 2, "hdf5-blosc2/boxes/b2h5py": 2,
}

// volumeSpecs returns the rows of the volume.
func (b *bench) volumeSpecs() (out []spec) {
	for _, f := range volumeFormats {
		for _, operation := range []string{"whole", "chunk", "boxes"} {
			for _, cache := range []string{"warm", "cold"} {
				out = append(out, spec{"volume/" + operation + "/" + f.name + "/" + cache, promised, func(b *bench) (*row, error) {
					return b.volume(f.name, f.file, f.compression, f.peers, operation, cache)
				}})
			}
		}
	}
	return out
}

// volume reads the volume with this module, the other libraries for its format, and those for Zarr.
func (b *bench) volume(format, file string, c *ndarray.Compression, peers []string, operation, cache string) (*row, error) {
	location, err := b.volumeFile(file, c)
	if err != nil {
		return nil, err
	}
	python := b.volumePython()
	zarr := ""
	if python != "" {
		if zarr, err = b.volumeFile("volume.zarr", nil); err != nil {
			return nil, err
		}
	}
	n, count, edge := b.volumeEdge(), int64(200), int64(8)
	if operation == "chunk" {
		edge = volumeChunk
	}
	box := []int64{edge, edge, edge}
	r := &row{Bytes: count * 2 * edge * edge * edge, Ops: count, Work: fmt.Sprintf("%d random boxes of %v of %d³ 16-bit integers in chunks of %d³, %s cache", count, box, n, volumeChunk, cache)}
	if operation == "whole" {
		r.Bytes, r.Ops = 2*n*n*n, 0
		r.Work = fmt.Sprintf("all of %d³ 16-bit integers in chunks of %d³, %s cache", n, volumeChunk, cache)
	}
	kind := operation
	if kind == "chunk" {
		kind = "boxes"
	}
	for _, w := range b.workers() {
		r.Tasks = append(r.Tasks, b.ours(named(w), "volume", kind, cache, location, w, count, box))
	}
	add := func(library, at string) {
		t := task{Name: library, Command: []string{""}}
		if python != "" {
			t.Command = append([]string{python, filepath.Join("scripts", "bench", "peers", "volume.py"), "read", library, kind, cache}, words(at, count, box)...)
		}
		r.Tasks = append(r.Tasks, t)
		bar := volumeBars[format+"/"+operation+"/"+library]
		if cache == "cold" {
			bar = 0 // the disk
		}
		ours := named(1)
		if operation == "whole" {
			ours = b.most()
		}
		r.Compare = append(r.Compare, compare{library, ours, bar})
	}
	for _, library := range peers {
		add(library, location)
	}
	for _, library := range zarrPeers {
		add(library, zarr)
	}
	return r, nil
}

// volumeTask: whole|boxes warm|cold LOCATION WORKERS COUNT BOX... reads a volume, which each run
// opens. Boxes of a whole chunk are at the places of chunks.
func volumeTask(a *args) (*work, error) {
	operation, cache, location, workers, count := a.text(), a.text(), a.text(), a.number(), a.number()
	box := a.rest()
	if a.err != nil {
		return nil, a.err
	}
	ctx := context.Background()
	var dst []byte
	run := func() (_ string, err error) {
		x, err := hyperslab.Open(ctx, location, nil)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, x.Close()) }()
		x.SetWorkers(int(workers))
		if operation == "whole" {
			if dst == nil {
				dst = make([]byte, x.NBytes())
			}
			return "done=0", x.Read(ctx, dst, ndarray.Whole(x.Shape()))
		}
		if dst == nil {
			dst = make([]byte, 2*whole(box).NumElems())
		}
		places, sum := random(1), uint64(0)
		at := make([]int64, len(box))
		for range count {
			for i, n := range x.Shape() {
				if box[i] == volumeChunk {
					at[i] = places.draw(n/box[i]) * box[i]
				} else {
					at[i] = places.draw(n - box[i] + 1)
				}
			}
			if err := x.Read(ctx, dst, ndarray.Region{Start: at, Shape: box}); err != nil {
				return "", err
			}
			sum += uint64(binary.LittleEndian.Uint16(dst))
		}
		return fmt.Sprintf("sum=%d", sum), nil
	}
	if _, err := run(); err != nil {
		return nil, err
	}
	w := &work{run: run}
	if operation == "whole" {
		w.facts = checksum(dst)
	}
	if cache == "cold" {
		file := strings.TrimSuffix(location, volumeObject)
		w.before = func() error { return dropPages(file) }
	}
	return w, nil
}
