// Checks of an untrusted file before a C library reads it.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// check returns an error for the first problem that makes the file unsafe for the library.
func (s *suspect) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.checkFormat(ctx)
	if errors.Is(err, ndarray.ErrNotFound) { // the column that the caller names
		return err
	}
	return format.Part(err)
}

// checkFormat is check with the errors of the readers.
func (s *suspect) checkFormat(ctx context.Context) error {
	switch s.Format {
	case B2ND:
		return s.checkFrame()
	case B2Z, B2D, B2E:
		return s.checkStore(ctx)
	case Bcolz:
		return s.checkTree()
	case HDF5:
		return s.checkHDF5()
	case NPY:
		return nil // no library reads it, and Open checks header and size
	}
	return fmt.Errorf("%w: format %q", ndarray.ErrFormat, s.Format)
}

// checkFrame checks header, metalayers, trailer, index, and the header and block starts of every
// chunk.
func (s *suspect) checkFrame() (err error) {
	l := s.frameLimits()
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	var f *cframe.Frame
	if info.IsDir() {
		dir, err := s.freeze()
		if err != nil {
			return err
		}
		if err := onlyFiles(dir); err != nil {
			return err
		}
		if f, err = cframe.ReadDirLimits(dir, l); err != nil {
			return err
		}
	} else {
		f, err = cframe.ReadLimits(s.file, info.Size(), l)
	}
	if err != nil {
		return err
	}
	return s.checkRead(f)
}

func (s *suspect) frameLimits() cframe.Limits {
	return cframe.Limits{Header: s.Limits.Metadata, Trailer: s.Limits.Metadata, Index: s.Limits.Metadata}
}

// checkStore checks the structure of a store. Each frame in it is checked when it is opened.
func (s *suspect) checkStore(ctx context.Context) (err error) {
	if s.store != nil {
		return nil
	}
	s.store, err = openStore(ctx, worker.FilePath(s.file), s.Format, s)
	return err
}

// checkRead checks a frame after its header, index location and trailer were read.
func (s *suspect) checkRead(f *cframe.Frame) error {
	var policy chunk.Policy
	for _, c := range s.Policy.Codecs {
		policy.Codecs = append(policy.Codecs, chunk.Codec(c))
	}
	for _, f := range s.Policy.Filters {
		policy.Filters = append(policy.Filters, chunk.Filter(f))
	}
	if err := f.CheckPolicy(policy); err != nil {
		return err
	}
	limit := func(what string, n int64, most int64) error {
		if n <= most {
			return nil
		}
		return &format.Error{Format: "blosc2 frame", What: what, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", most), Err: format.ErrLimit}
	}
	if err := errors.Join(limit("chunk size", int64(f.ChunkSize), s.Limits.Chunk), limit("block size", int64(f.BlockSize), s.Limits.Chunk), limit("nbytes", f.NBytes, s.Limits.Array)); err != nil {
		return err
	}
	// The decoded size must be limited, because small chunks can be highly compressed, and all
	// attributes are read together.
	attrs := int64(0)
	for _, m := range f.Trailer.VLMetalayers {
		h, err := chunk.ParseHeader(m.Content)
		if err != nil {
			return err
		}
		attrs += int64(h.NBytes)
	}
	if err := limit("variable-length metalayers", attrs, s.Limits.Metadata); err != nil {
		return err
	}
	if _, _, err := f.Array(); err != nil {
		return err
	}
	return f.CheckChunks(policy, nil)
}

// onlyFiles returns an error if the directory of a sparse frame contains anything except regular
// files. C-Blosc2 would follow a link out of the directory, and block on a pipe.
func onlyFiles(dir fs.FS) error {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return &format.Error{Format: "blosc2 frame", What: fmt.Sprintf("file %q", e.Name()), Got: e.Type().String(), Want: "a regular file", Err: format.ErrCorrupt}
		}
	}
	return nil
}

func (s *suspect) bcolzLimits() bcolztree.Limits {
	return bcolztree.Limits{Metadata: s.Limits.Metadata, Chunk: min(s.Limits.Chunk, bcolztree.DefaultLimits().Chunk)}
}

// checkTree checks the metadata of a carray, or of the requested column. The backend checks each
// chunk before it decodes it.
func (s *suspect) checkTree() (err error) {
	dir, err := s.freeze()
	if err != nil {
		return err
	}
	kind, err := bcolztree.Detect(dir, ".")
	if err != nil {
		return err
	}
	l := s.bcolzLimits()
	if kind == bcolztree.NestedTree {
		return nil // only the backend reads the metadata, and it uses the same limits
	}
	if kind != bcolztree.TableTree {
		_, err = bcolztree.ReadArray(dir, ".", &l)
		return err
	}
	t, err := bcolztree.ReadTable(dir, ".", &l)
	if err != nil {
		return err
	}
	column := strings.Trim(s.Object, "/")
	if column == "" {
		return nil // the backend reads the metadata of all columns with the same limits
	}
	if _, err = t.Column(column); errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ndarray.ErrCorrupt) {
		return errs.Mark(err, ndarray.ErrNotFound)
	}
	return err
}

// checkHDF5 checks all metadata of the file.
func (s *suspect) checkHDF5() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	return h5check.Check(s.file, info.Size(), h5check.Options{
		Metadata: s.Limits.Metadata, Array: s.Limits.Array, Chunk: s.Limits.Chunk, Filters: s.Policy.HDF5Filters,
		ExternalLinks: s.Policy.ExternalLinks, VirtualSources: s.Policy.VirtualSources, ExternalFiles: s.Policy.ExternalFiles,
		Direct: s.Direct,
	})
}
