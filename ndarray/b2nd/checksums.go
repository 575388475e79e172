// Checksums of chunks (cframe.ChecksumLayer): in Compression they are the last filter, "crc32c".

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/ndarray"
)

// checksumFilter is the name of the checksums in Compression.Filters, as in Zarr.
const checksumFilter = "crc32c"

// checksummed reports whether c ends with the filter of checksums.
func checksummed(c *ndarray.Compression) bool {
	return c != nil && len(c.Filters) > 0 && c.Filters[len(c.Filters)-1] == checksumFilter
}

// withChecksum returns c with the filter of checksums.
func withChecksum(c *ndarray.Compression) *ndarray.Compression {
	return &ndarray.Compression{Codec: c.Codec, Level: c.Level, Filters: append(slices.Clone(c.Filters), checksumFilter)}
}

// withoutChecksum returns c without the filter of checksums, which C-Blosc2 does not have.
func withoutChecksum(c *ndarray.Compression) *ndarray.Compression {
	if !checksummed(c) {
		return c
	}
	return &ndarray.Compression{Codec: c.Codec, Level: c.Level, Filters: c.Filters[:len(c.Filters)-1]}
}

// hasChecksums reports whether the array at path, with these metalayers, has current checksums.
func hasChecksums(path string, vl layers) (has bool, err error) {
	names, err := vl.Names()
	if err != nil || !slices.Contains(names, cframe.ChecksumLayer) {
		return false, err
	}
	f, err := frameio.Open(path, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil // workers do not read it
	}
	if err != nil {
		return false, err
	}
	return f.HasChecksums(), f.Close()
}

// openChecked opens an array for reading, whose checksums are compared if compare is set.
func openChecked(path string, compare bool) (*frameio.Array, error) {
	f, err := frameio.Open(path, &frameio.Limits{Checksums: compare})
	if err != nil {
		return nil, err
	}
	a, err := f.Array()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return a, nil
}

// rewrite writes elements in chunks that are read, changed and stored again.
func (b *backend) rewrite(ctx context.Context, src []byte, r ndarray.Region, workers int) error {
	b.partial.Lock()
	defer b.partial.Unlock()
	if err := b.engine.current(); err != nil {
		return err
	}
	src, r, err := b.widened(ctx, src, r, workers)
	if err != nil {
		return err
	}
	if !b.meta.DType.IsNative() {
		src = slices.Clone(src)
		b.meta.DType.ToNative(src) // to storage order; ToNative is its own inverse
	}
	ok, err := b.engine.write(ctx, src, r, workers)
	if err == nil && !ok {
		err = fmt.Errorf("%w: an array with checksums that C-Blosc2 must write", errors.ErrUnsupported)
	}
	return err
}

// resizeSummed changes the shape of an array with checksums. Rows are added without C-Blosc2. For
// any other shape all chunks are compared with their checksums before, because C-Blosc2 renumbers
// chunks, and get new checksums afterwards.
func (b *backend) resizeSummed(ctx context.Context, shape []int64) error {
	old := b.meta.Shape
	rows := len(shape) > 0 && len(shape) == len(old) && shape[0] > old[0] && slices.Equal(shape[1:], old[1:])
	if rows {
		if err := b.engine.addRows(shape[0]); err != nil {
			return err
		}
	} else if err := b.engine.compareAll(ctx); err != nil {
		return err
	}
	return b.engine.idle(true, func(a *cblosc.Array) error {
		if !rows {
			if err := a.Resize(shape); err != nil {
				return err
			}
		}
		b.meta.Shape = a.Shape()
		if err := b.fillNewChunks(a, old); err != nil {
			return err
		}
		return b.engine.restore()
	})
}

// addRows makes the array longer along its first axis.
func (e *engine) addRows(n int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := errors.Join(e.finishWriting(), e.unchanged()); err != nil {
		return err
	}
	if err := e.begin(n); err != nil {
		return err
	}
	return e.finishWriting()
}

// compareAll compares all chunks with their checksums.
func (e *engine) compareAll(ctx context.Context) error {
	return e.reading(func(r *frameio.Array, _ *cblosc.Array) error {
		if r == nil {
			return fmt.Errorf("%w: an array with checksums that C-Blosc2 must read", errors.ErrUnsupported)
		}
		var b []byte
		for i := range r.Frame().NumChunks() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if r.Frame().Special(i) != cblosc.NotSpecial {
				continue // compared when the frame was opened
			}
			var err error
			if b, err = r.Frame().Chunk(b[:0], i); err != nil {
				return err
			}
		}
		return nil
	})
}

// restore writes the checksums of all chunks if C-Blosc2 has changed the array. The caller holds
// the lock of e.
func (e *engine) restore() error {
	if !e.summed || e.writer != nil || e.placed.Load() || e.array == nil {
		return nil
	}
	has, err := hasChecksums(e.path, e.array.SChunk().VLMeta())
	if err != nil || has {
		return err
	}
	if err := e.begin(0); err != nil {
		return err
	}
	return e.finishWriting()
}
