// Compression and blocks of a b2nd array for the chunks of an HDF5 dataset.

package converted

import (
	"context"
	"strings"

	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Blosc2Prefix begins the codec names of the HDF5 filter Blosc2 (32026).
const Blosc2Prefix = "blosc2/"

// Blosc2 returns the compression and the block shape of a b2nd array that takes the chunks of a as
// they are stored. It returns nil if a is not compressed with Blosc2 only, if its chunks have no
// block shape, and if the backend of a cannot return stored chunks, as for an untrusted file. It
// returns the error of a read.
func Blosc2(ctx context.Context, a *ndarray.Array) (*ndarray.Compression, []int64, error) {
	m := a.Meta()
	if m.Compression == nil || m.ChunkShape == nil {
		return nil, nil, nil
	}
	codec, ok := strings.CutPrefix(m.Compression.Codec, Blosc2Prefix)
	if !ok {
		return nil, nil, nil
	}
	r, ok := ndarray.As[chunked.Reader](a.Backend())
	if !ok {
		return nil, nil, nil
	}
	forms, err := r.ChunkForms(ctx)
	if err != nil {
		return nil, nil, ndarray.Wrap("read", m.Path, err)
	}
	c := m.Compression
	c.Codec = codec
	for _, f := range forms {
		if blocks, ok := f.Blocks(); ok && f == chunked.Blosc2(m.DType.Size, blocks, c.String()) {
			return c, blocks, nil
		}
	}
	return nil, nil, nil
}
