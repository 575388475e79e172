// Other files that contain elements of an HDF5 file: external files, and the sources of virtual
// datasets.

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
)

// others verifies the files that contain elements of the HDF5 file at path, and adds their errors
// to r. seen are the files that are verified already, so that sources may refer to each other.
func others(ctx context.Context, path string, o Options, r *Report, seen fileSet) (err error) {
	if r.Format != detect.HDF5 || o.Untrusted {
		return nil
	}
	f, info, err := regularfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	limits := h5file.DefaultLimits()
	limits.Structure = o.MaxMetadata
	file, err := h5file.Open(f, info.Size(), &limits)
	if err != nil || file.Driver() != nil {
		return nil // reported by the job
	}
	for e := range file.Walk() {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := e.Object
		if x == nil || x.Kind() != h5file.DatasetKind || x.Err() != nil {
			continue
		}
		s, t, l := x.Dataspace(), x.Datatype(), x.Layout()
		if s == nil || t == nil || l == nil {
			continue
		}
		if list := x.ExternalFiles(); list != nil && l.Class == h5file.Contiguous {
			if n, ok := s.Elements(); ok && n <= math.MaxInt64/uint64(max(t.Size, 1)) {
				if err := external(ctx, e.Path, list.Files, int64(n)*int64(t.Size), o, r, seen); err != nil {
					return err
				}
			}
			continue
		}
		maps, err := x.Mappings()
		if err != nil {
			continue
		}
		if err := sources(ctx, path, e.Path, s.Dims, maps, o, r, seen); err != nil {
			return err
		}
	}
	return nil
}

// external reads the size bytes of elements of a dataset from external files. As in libhdf5, bytes
// after the end of a file are zeros.
func external(ctx context.Context, object string, list []h5file.ExternalFile, size int64, o Options, r *Report, seen fileSet) error {
	buffer := make([]byte, min(piece, size))
	for _, x := range list {
		n := size
		if x.Size < uint64(n) {
			n = int64(x.Size)
		}
		size -= n
		name := h5parts.ExternalPath(x.Name)
		seen.add(name)
		for at := int64(0); at < n; at += piece {
			if err := ctx.Err(); err != nil {
				return err
			}
			k := min(piece, n-at)
			r.Chunks++
			err := readPiece(name, buffer[:k], x.Offset, at)
			if err == nil {
				r.DecodedBytes += k
				r.StoredBytes += k
				continue
			}
			p := Finding{Object: object, What: "external file", File: x.Name, Offset: -1, Chunk: -1, Err: err}
			if err := r.Add(p, o.MaxDamages); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// readPiece fills b from a file.
func readPiece(name string, b []byte, offset uint64, at int64) (err error) {
	f, _, err := regularfile.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if offset > math.MaxInt64-uint64(at) {
		return nil // after the end of the file
	}
	if _, err := f.ReadAt(b, int64(offset)+at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// sources verifies the source files of a virtual dataset of shape dims, and checks that the source
// datasets exist and have as many elements as the mappings. libhdf5 reads missing sources as fill
// value, so they are errors here.
func sources(ctx context.Context, path, object string, dims []uint64, maps []h5file.Mapping, o Options, r *Report, seen fileSet) error {
	found := map[string]*h5file.Object{}
	for _, m := range maps {
		file, oneFile := h5parts.Literal(m.File)
		dataset, one := h5parts.Literal(m.Dataset)
		if !oneFile || !one { // numbers of a series, which may end anywhere
			if err := r.Add(Finding{Object: object, What: "virtual source", File: m.File, Offset: -1, Chunk: -1,
				Err: fmt.Errorf("%w: a series of sources", errors.ErrUnsupported)}, o.MaxDamages); err != nil {
				return err
			}
			continue
		}
		m.File, m.Dataset = file, dataset
		bad := func(err error) error {
			return r.Add(Finding{Object: object, What: "virtual source " + m.Dataset, File: m.File, Offset: -1, Chunk: -1, Err: err}, o.MaxDamages)
		}
		key := m.File + "\x00" + m.Dataset
		x, known := found[key]
		if !known {
			var err error
			if x, err = source(ctx, path, m, o, r, seen, bad); err != nil {
				return err
			}
			found[key] = x
		}
		if x == nil || x.Dataspace() == nil {
			continue
		}
		if err := m.Check(x.Dataspace().Dims, dims); err != nil {
			if err := bad(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// source verifies the file of a source and returns the source dataset. bad adds an error to the
// report; the dataset is then nil.
func source(ctx context.Context, path string, m h5file.Mapping, o Options, r *Report, seen fileSet, bad func(error) error) (*h5file.Object, error) {
	name := path
	if m.File != "." {
		name = h5parts.SourcePath(path, m.File)
		info, err := os.Stat(name)
		if err != nil {
			return nil, bad(err)
		}
		if !seen.has(info) {
			o.Progress, o.Values, o.Member, o.Digests, o.Format = nil, false, nil, NoDigests, ""
			if err := whole(ctx, name, m.File, o, r, seen); err != nil {
				if ctx.Err() != nil {
					return nil, err
				}
				return nil, bad(err)
			}
		}
	}
	x, err := h5parts.FindDataset(name, m.Dataset)
	if err != nil {
		return nil, bad(err)
	}
	return x, nil
}

// whole verifies a source file and adds its report to r. Errors name the file as the dataset does.
func whole(ctx context.Context, path, name string, o Options, r *Report, seen fileSet) error {
	x, err := examine(ctx, path, o, seen)
	if err != nil {
		return err
	}
	r.merge(x, o.MaxDamages, func(p *Finding) {
		if p.File == "" {
			p.File = name
		}
	})
	return nil
}
