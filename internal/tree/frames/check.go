// Checks of an untrusted frame before a library reads it.

package frames

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// check checks header, metalayers, trailer, index, and the header and block starts of every chunk.
func check(ctx context.Context, s *tree.Source) error {
	if !s.IsDir() {
		return Check(s.File, s.Size, s.Trust)
	}
	dir, err := s.FS(ctx)
	if err != nil {
		return err
	}
	if err := onlyFiles(dir); err != nil {
		return err
	}
	f, err := cframe.ReadDirLimits(dir, limitsOf(s.Trust))
	if err != nil {
		return err
	}
	return checkRead(f, s.Trust)
}

// Check checks the frame in r, which has size bytes.
func Check(r io.ReaderAt, size int64, trust *tree.Trust) error {
	f, err := cframe.ReadLimits(r, size, limitsOf(trust))
	if err != nil {
		return err
	}
	return checkRead(f, trust)
}

func limitsOf(trust *tree.Trust) cframe.Limits {
	most := trust.Limits.Metadata
	return cframe.Limits{Header: most, Trailer: most, Index: most}
}

// checkRead checks a frame after its header, index location and trailer were read.
func checkRead(f *cframe.Frame, trust *tree.Trust) error {
	var policy chunk.Policy
	for _, c := range trust.Policy.Codecs {
		policy.Codecs = append(policy.Codecs, chunk.Codec(c))
	}
	for _, f := range trust.Policy.Filters {
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
	most := trust.Limits
	if err := errors.Join(limit("chunk size", int64(f.ChunkSize), most.Chunk), limit("block size", int64(f.BlockSize), most.Chunk), limit("nbytes", f.NBytes, most.Array)); err != nil {
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
	if err := limit("variable-length metalayers", attrs, most.Metadata); err != nil {
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
