package h5cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Report is the layout of a file.
type Report struct {
	Size     int64 // of the file
	Metadata Metadata
	PageSize int64 // 0 without paged file space
	Arrays   []Array
	Problems []Problem

	Now, Repacked Cost // of xarray, for the file and its copy by Create
}

// Array is the layout of a dataset.
type Array struct {
	Path        string
	Shape       []int64
	Bytes       int64 // of the elements in memory
	StoredBytes int64
	ChunkShape  []int64 // nil without chunks
	ChunkBytes  int64   // of a chunk in memory
	Chunks      int64   // stored chunks
}

// Problem is a property that makes reads over a network slow: the number of requests for the
// metadata, or the bytes of a chunk of an object.
type Problem struct {
	Object      string // "": the metadata of the file
	Got         int64
	Least, Most int64
}

// ExamineFile is Examine for a file or URL.
func ExamineFile(ctx context.Context, file string) (*Report, error) {
	x, err := examineFile(ctx, file)
	return x, ndarray.Wrap("examine", urlfile.Redact(file), err)
}

func examineFile(ctx context.Context, file string) (_ *Report, err error) {
	if urlfile.IsURL(file) {
		o, err := urlfile.Get().Open(ctx, file)
		if err != nil {
			return nil, err
		}
		x, err := Examine(ctx, o, o.Size())
		return x, errors.Join(err, o.Close())
	}
	f, info, err := regularfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return Examine(ctx, f, info.Size())
}

// Examine reads the layout of the HDF5 file r of that size in bytes. It reads metadata only. An
// error matches ndarray.ErrFormat for a file that is not HDF5.
func Examine(ctx context.Context, r io.ReaderAt, size int64) (*Report, error) {
	f, err := h5file.Open(r, size, nil)
	if errors.Is(err, format.ErrMagic) {
		return nil, fmt.Errorf("%w: the layout for object stores is one of HDF5 files", errs.Mark(err, ndarray.ErrFormat))
	} else if err != nil {
		return nil, err
	}
	x := &Report{Size: size}
	if s := f.FileSpace(); s != nil && s.Strategy == h5file.Paged {
		x.PageSize = int64(s.PageSize)
	}
	c := &costs{open: newBlocks(size), all: newBlocks(size)}
	if x.Metadata, err = readMetadata(r, size, c); err != nil {
		return nil, err
	}
	if n := x.Metadata.Requests; n > MostRequests {
		x.Problems = append(x.Problems, Problem{Got: int64(n), Most: MostRequests})
	}
	seen := make(map[h5file.Addr]bool)
	for e, err := range f.Walk() {
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case e.Object == nil || seen[e.Object.Addr] || e.Object.Layout() == nil || e.Object.Dataspace() == nil || e.Object.Datatype() == nil:
			continue
		}
		seen[e.Object.Addr] = true
		if err := x.array(e.Path, e.Object, f.UserBlock(), c); err != nil {
			return nil, err
		}
	}
	stored := int64(0)
	for i := range x.Arrays {
		stored += x.Arrays[i].StoredBytes
	}
	x.Now, x.Repacked = c.now(), c.repacked(x.Metadata, stored)
	return x, nil
}

// array adds a dataset of a file with a user block of base bytes. It ignores one whose sizes are
// corrupt, which package verify reports.
func (x *Report) array(path string, o *h5file.Object, base int64, costs *costs) error {
	layout, space := o.Layout(), o.Dataspace()
	n, ok := space.Elements()
	each := int64(o.Datatype().Size)
	if !ok || each > 0 && n > uint64(math.MaxInt64/each) {
		return nil
	}
	scale := coordinate(o)
	a := Array{Path: path, Shape: sizes(space.Dims), Bytes: int64(n) * each}
	switch layout.Class {
	case h5file.Contiguous:
		a.StoredBytes = int64(layout.Size)
		if layout.Addr.Defined() {
			costs.elements(scale, base+int64(layout.Addr), a.StoredBytes)
		}
	case h5file.Compact:
		a.StoredBytes = int64(len(layout.Data))
	case h5file.Chunked:
		whole, ok := layout.ChunkBytes()
		if !ok || len(layout.Dims) == 0 || whole > math.MaxInt64 {
			return nil
		}
		for c, err := range o.Chunks() {
			if err != nil {
				return err
			}
			a.Chunks++
			a.StoredBytes += int64(c.Size)
			costs.elements(scale, base+int64(c.Addr), int64(c.Size))
		}
		a.ChunkShape, a.ChunkBytes = sizes(layout.Dims[:len(layout.Dims)-1]), int64(whole)
		if a.ChunkBytes > MostChunk || a.ChunkBytes < LeastChunk && a.Bytes > LeastChunk {
			x.Problems = append(x.Problems, Problem{Object: path, Got: a.ChunkBytes, Least: LeastChunk, Most: MostChunk})
		}
	}
	x.Arrays = append(x.Arrays, a)
	return nil
}

// sizes converts dimensions.
func sizes(dims []uint64) []int64 {
	list := make([]int64, len(dims))
	for i, n := range dims {
		list[i] = int64(min(n, math.MaxInt64))
	}
	return list
}
