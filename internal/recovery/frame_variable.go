// Frames that are not repaired: those with plug-ins that are not available, and those of format 3,
// whose chunks vary in length and contain objects instead of elements.

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// available returns errors.ErrUnsupported if every stored chunk of the index names a codec or
// filter that this module does not have, or the first chunk one that the header names as well.
// Without it chunks cannot be distinguished from other bytes.
func (f *frame) available(o []cframe.Offset) (err error) {
	for _, at := range o {
		if at.IsSpecial() {
			continue
		}
		h, ok := f.chunkHeader(at)
		if !ok {
			return nil
		}
		missing, declared := "", false
		if !trusted.AllowsCodec(h.Codec) {
			missing, declared = h.Codec.String(), h.Codec == f.head.Codec()
		}
		for _, id := range h.Filters {
			if !trusted.AllowsFilter(id) {
				missing, declared = id.String(), declared || slices.Contains(f.head.Filters[:], id)
			}
		}
		if missing == "" {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("%w: recovering a frame of %s, which is not available", errors.ErrUnsupported, missing)
		}
		if declared {
			return err
		}
	}
	return err
}

// chunkHeader reads the header of the chunk at o.
func (f *frame) chunkHeader(o cframe.Offset) (chunk.Header, bool) {
	b := make([]byte, chunk.ExtendedHeaderSize)
	if f.dir == "" {
		b = f.bytes(f.base+int64(o), len(b))
	} else if file, _, err := regularfile.Open(filepath.Join(f.dir, cframe.ChunkFile(o))); err == nil {
		_, _ = file.ReadAt(b, 0) // a short file has zeros, which are no chunk
		_ = file.Close()
	}
	h, err := chunk.ParseHeader(b)
	return h, err == nil
}

// copyVariable copies a frame of format 3 unchanged if it is valid. Otherwise it returns
// errors.ErrUnsupported and writes no file, because only the index contains the lengths of the
// chunks that a repair needs.
func (f *frame) copyVariable(ctx context.Context) (err error) {
	decoded, guessed, err := f.checkVariable(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: repairing a frame with chunks of variable length: %v", errors.ErrUnsupported, err)
	}
	if err := atomicfile.Copy(ctx, f.r.made, f.r.Source); err != nil {
		return err
	}
	f.r.Arrays, f.r.Chunks, f.r.Unverified, f.r.Guessed = 1, decoded+guessed, decoded, guessed
	if guessed > 0 {
		f.r.note(Guessed, "", "chunks", -1, "%d were copied without being decoded: their blocks have lengths of their own (C-Blosc2 3.0)", guessed)
	}
	return nil
}

// checkVariable reads a frame of format 3 and decodes its chunks. It returns the number of decoded
// chunks, and of chunks that only a newer library decodes.
func (f *frame) checkVariable(ctx context.Context) (decoded, guessed int64, err error) {
	var head *cframe.Frame
	if f.dir != "" {
		head, err = cframe.ReadDir(os.DirFS(f.dir))
	} else {
		head, err = cframe.Read(f.file, f.size)
	}
	if err != nil {
		return 0, 0, err
	}
	if err := head.CheckPolicy(trusted); err != nil {
		return 0, 0, err
	}
	decode := func(dst, b []byte) error { return exactly(f.pool.Decompress, dst, b) }
	if err := head.CheckChunks(trusted, decode); err != nil {
		return 0, 0, err
	}
	offsets, err := head.Offsets(decode)
	if err != nil {
		return 0, 0, err
	}
	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for i, at := range offsets {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		raw, err := head.ReadChunk(at)
		if err != nil {
			return 0, 0, fmt.Errorf("chunk %d: %w", i, err)
		}
		known, err := f.decodeVariable(d, raw)
		if err != nil {
			return 0, 0, fmt.Errorf("chunk %d: %w", i, err)
		}
		if known {
			decoded++
		} else {
			guessed++
		}
	}
	return decoded, guessed, nil
}

// decodeVariable decodes one chunk. It reports whether C-Blosc2 supports the chunk.
func (f *frame) decodeVariable(d *cblosc.Decompressor, raw []byte) (bool, error) {
	if err := trusted.Check(raw); err != nil {
		return false, err
	}
	h, err := chunk.ParseHeader(raw)
	if err != nil {
		return false, err
	}
	if int64(h.NBytes) > f.most {
		return false, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(h.NBytes), Want: fmt.Sprintf("at most %d", f.most), Err: format.ErrLimit}
	}
	if (chunk.Policy{}).CheckHeader(&h) != nil {
		return false, nil
	}
	if h.VLBlocks() {
		err = d.DecompressVL(new(cblosc.Batch), raw)
	} else {
		err = exactly(f.pool.Decompress, make([]byte, h.NBytes), raw)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil, err
}

// exactly decompresses b into all of dst.
func exactly(decompress func(dst, b []byte) (int, error), dst, b []byte) error {
	n, err := decompress(dst, b)
	if err == nil && n != len(dst) {
		err = &format.Error{Format: "blosc chunk", What: "values", Got: fmt.Sprint(n), Want: fmt.Sprint(len(dst)), Err: format.ErrCorrupt}
	}
	return err
}
