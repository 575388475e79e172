// Writing of the recovered frame.

package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// params returns the parameters of the new frame.
func (f *frame) params(typeSize, chunkSize int64) *frameio.Params {
	cp := cblosc.DefaultCParams()
	h := f.head
	if f.header {
		cp.Codec, cp.CodecMeta, cp.Level, cp.Split = cblosc.Codec(h.Codec()), h.CodecMeta, h.Level(), cblosc.SplitMode(h.SplitMode())
		for i, id := range h.Filters {
			cp.Filters[i] = cblosc.Filter{ID: cblosc.FilterID(id), Meta: h.FiltersMeta[i]}
		}
	}
	cp.TypeSize, cp.Threads = int(typeSize), 1
	cp.BlockSize = f.blockSize(typeSize)
	if err := cp.Validate(); err != nil {
		f.r.note(Guessed, "", "compression of new chunks", -1, "the library's default: %v", err)
		cp = cblosc.DefaultCParams()
		cp.TypeSize, cp.Threads, cp.BlockSize = int(typeSize), 1, f.blockSize(typeSize)
	}
	p := &frameio.Params{CParams: cp, ChunkSize: int(chunkSize), VLMeta: f.vlmeta, Sparse: f.dir != "", Allow: cblosc.Allow{Codecs: cblosc.ArrayCodecs(), Filters: []cblosc.FilterID{cblosc.NDCell, cblosc.NDMean}}}
	for _, l := range h.Metalayers {
		p.Meta = append(p.Meta, cblosc.Metalayer{Name: l.Name, Content: l.Content})
	}
	return p
}

func (f *frame) write(ctx context.Context) (err error) {
	places := f.places()
	typeSize, chunkSize, total := f.shape(int64(len(places)))
	if typeSize < 1 || chunkSize < 1 || chunkSize > f.most {
		return noData("chunk")
	}
	if f.meta != nil {
		if err := f.meta.CheckStorage(int32(typeSize), int32(chunkSize), total); err != nil {
			f.r.note(Lost, "", "array metalayer", -1, "%v: the new file is a frame of chunks", err)
			f.r.LostObjects++
			f.head.Metalayers, f.meta = nil, nil
			typeSize, chunkSize, total = f.shape(int64(len(places)))
		}
	}
	f.checkType(typeSize)
	if chunkSize%typeSize != 0 || total%typeSize != 0 {
		f.r.note(Guessed, "", "bytes of an element", -1, "1: %d bytes in chunks of %d are not whole elements of %d", total, chunkSize, typeSize)
		typeSize = 1
	}
	n := grid.DivUp(total, chunkSize)
	if extra := int64(len(places)) - n; extra > 0 {
		f.r.note(Lost, "", "chunks", -1, "%d more than the array has were found", extra)
		f.r.Lost += extra
		places = places[:n]
	}
	if n > maxChunks {
		return noData(fmt.Sprintf("frame of %d chunks", n))
	}
	w, err := frameio.Create(f.r.made, f.params(typeSize, chunkSize))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for i := int64(0); i < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := min(chunkSize, total-i*chunkSize)
		if err := f.copyChunk(w, i, size, typeSize, places); err != nil {
			return err
		}
		more := alike(places, i, total/chunkSize) - 1
		if more > 0 {
			if err := f.repeat(w, i, more, places); err != nil {
				return err
			}
		}
		i += 1 + max(more, 0)
	}
	if n > 0 && f.r.Chunks == 0 {
		return noData("chunk")
	}
	f.r.Arrays = 1
	f.offsets = nil // Commit needs as much memory for the index of the new frame
	return w.Commit()
}

// checkType replaces the element type of the array by an opaque one if it has another size or is
// not known, because python-blosc2 does not open such an array.
func (f *frame) checkType(typeSize int64) {
	if f.meta == nil || f.meta.DType == "" && f.meta.DTypeFormat == 0 {
		return
	}
	if d, err := ndarray.ParseDType(f.meta.DType); err == nil && int64(d.Size) == typeSize && f.meta.DTypeFormat == 0 {
		return
	}
	opaque := fmt.Sprintf("|V%d", typeSize)
	f.r.note(Guessed, "", "element type", -1, "%s: %.60q is no NumPy type of %d bytes", opaque, f.meta.DType, typeSize)
	f.meta.DType, f.meta.DTypeFormat = opaque, 0
	for i, l := range f.head.Metalayers {
		if l.Name == b2ndmeta.Name {
			f.head.Metalayers[i].Content = f.meta.Append(nil)
		}
	}
}

// maxChunks is the maximum number of chunks of a new frame. It equals the limit of package cframe
// for an index, because a corrupt header can claim any number. Tests reduce it.
var maxChunks = cframe.DefaultLimits().Index / 8

// alike returns the number of consecutive chunks from i on that are equal: the same special value,
// or missing chunks. The frame has "whole" full chunks.
func alike(places []cframe.Offset, i, whole int64) int64 {
	there := int64(len(places))
	if i >= there {
		return whole - i
	}
	n := int64(1)
	for places[i].IsSpecial() && places[i].Check() == nil && i+n < min(there, whole) && places[i+n] == places[i] {
		n++
	}
	return n
}

// repeat writes chunk i again, "more" times. It writes them all at once, because some bytes of a
// corrupt file can claim millions of chunks.
func (f *frame) repeat(w *frameio.Writer, i, more int64, places []cframe.Offset) error {
	if i < int64(len(places)) {
		f.r.Chunks += more
		f.r.Unverified += more
	} else {
		f.r.Lost += more
		f.r.add(finding(Lost, "", "chunk", i+1, -1, fmt.Sprintf("no chunk was found for it, and for the %d after it", more-1)))
	}
	return w.RepeatLast(int(more))
}

// copyChunk writes chunk i, or zeros instead of it.
func (f *frame) copyChunk(w *frameio.Writer, i, size, typeSize int64, places []cframe.Offset) error {
	lost := func(offset int64, text string, args ...any) error {
		f.r.Lost++
		f.r.add(finding(Lost, "", "chunk", i, offset, fmt.Sprintf(text, args...)))
		return f.special(w, chunk.Zeros, size, typeSize)
	}
	if i >= int64(len(places)) {
		return lost(-1, "no chunk was found for it")
	}
	p := places[i]
	if p.IsSpecial() {
		if p.Check() != nil {
			return lost(-1, "an invalid entry of the index")
		}
		f.r.Chunks++
		f.r.Unverified++
		return f.special(w, p.Special(), size, typeSize)
	}
	offset := f.base + int64(p)
	if f.dir != "" {
		offset = -1
	}
	c, raw, err := f.load(p)
	f.r.seen.more(c.stored)
	if err != nil {
		return lost(offset, "%v", err)
	}
	if c.n != size {
		return lost(offset, "a chunk of %d bytes, want %d", c.n, size)
	}
	values, ok := f.decode(c, raw)
	if !ok {
		return lost(offset, "it does not decode")
	}
	switch err := w.WriteChunk(raw); {
	case noSpace(err):
		return err // an error of the new file, not of the chunk
	case errors.Is(err, errors.ErrUnsupported):
		if c.h.Special != chunk.NotSpecial {
			if values, ok = f.values(c, raw); !ok {
				return lost(offset, "it does not decode")
			}
		}
		if values == nil {
			return err // only C-Blosc2 with the frame can decode it
		}
		if _, err := w.Write(values); err != nil {
			return err
		}
	case err != nil:
		return lost(offset, "%v", err)
	}
	f.r.Chunks++
	switch {
	case values == nil && c.h.Special == chunk.NotSpecial: // codec or filters need the array's metadata, or the work limit was reached
		f.r.Guessed++
		f.r.add(finding(Guessed, "", "chunk", i, offset, "its header and block starts are valid; the values were not decoded"))
	case f.offsets != nil:
		f.r.Unverified++
	default:
		f.r.Guessed++
	}
	return nil
}

// blockSize returns the bytes of a block. C-Blosc2 compares the number of blocks of a chunk with
// that of the array.
func (f *frame) blockSize(typeSize int64) int {
	if f.meta != nil {
		return int(f.meta.BlockItems() * typeSize)
	}
	return int(f.head.BlockSize)
}

func (f *frame) special(w *frameio.Writer, kind chunk.Special, size, typeSize int64) error {
	p := cblosc.DefaultCParams()
	p.TypeSize, p.BlockSize = int(typeSize), f.blockSize(typeSize)
	b, err := cblosc.SpecialChunk(p, cblosc.Special(kind), int(size), nil)
	if err != nil {
		return err
	}
	return w.WriteChunk(b)
}
