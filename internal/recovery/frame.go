// Recovery of Blosc2 frames: header, index, metalayers and chunks.

package recovery

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// trusted contains the codecs and filters of this module that do not check their bounds and need
// the frame's metadata. Their chunks are copied without recompression.
var trusted = chunk.Unchecked()

// frame is a frame that is being recovered.
type frame struct {
	r    *Report
	most int64
	pool *cblosc.Pool
	data []byte // buffer for the values of a decoded chunk

	// Source of the chunks: a file or a directory, with its total size in bytes.
	bulk int64
	file *os.File
	size int64
	dir  string

	head   cframe.Header
	header bool // head was read from the file
	meta   *b2ndmeta.Meta
	vlmeta []cblosc.Metalayer

	found   []located       // chunks in file order
	offsets []cframe.Offset // the index; nil without one
	base    int64           // offset in the file to which the index is relative
}

// located is a chunk and its location: the offset in the file, or the number of its chunk file.
type located struct {
	at     int64
	stored int64 // stored bytes
	n      int64 // decoded bytes
	h      chunk.Header
}

func recoverFrame(ctx context.Context, r *Report, o Options, dir bool) (err error) {
	f := &frame{r: r, most: o.MaxChunk, file: r.file, size: r.size}
	if f.pool, err = cblosc.NewPool(nil, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.pool.Close()) }()
	if dir {
		f.dir = r.Source
		file, info, err := regularfile.Open(filepath.Join(r.Source, cframe.IndexFile))
		switch {
		case err == nil:
			defer func() { err = errors.Join(err, file.Close()) }()
			f.file, f.size = file, info.Size()
		case errors.Is(err, regularfile.ErrNot):
			r.note(Lost, "", "index", -1, "%v", err)
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	if err := f.readHeader(); err != nil {
		return err
	}
	if f.header && (f.head.VariableChunks() || f.head.VLBlocks()) {
		return f.copyVariable(ctx)
	}
	all, err := bytesOf(r.Source)
	if err != nil {
		return err
	}
	f.bulk = all
	r.seen.begin(all, all)
	if err := f.readIndex(ctx, all); err != nil {
		return err
	}
	f.readTrailer()
	f.r.seen.begin(all, 0)
	return f.write(ctx)
}

// readHeader reads the header. If the header is invalid, readHeader searches for a b2nd metalayer
// in its bytes.
func (f *frame) readHeader() error {
	b := make([]byte, min(f.size, 1<<20))
	if f.file != nil {
		if _, err := f.file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	h, err := cframe.ParseHeader(b)
	if err == nil && int64(h.HeaderSize) <= f.size && h.TypeSize > 0 && h.ChunkSize%h.TypeSize == 0 && (h.Type() == cframe.Sparse) == (f.dir != "") {
		for _, l := range h.Metalayers {
			if err := b2ndmeta.CheckStored(l.Name, l.Content); err != nil {
				return err
			}
		}
		f.head, f.header = h, true
		f.base = int64(h.HeaderSize)
		for _, name := range []string{b2ndmeta.Name, b2ndmeta.CatervaName} {
			content, ok := h.Metalayer(name)
			if !ok {
				continue
			}
			m, err := b2ndmeta.Parse(name, content)
			if err == nil {
				err = m.Check()
			}
			if err == nil {
				f.meta = &m
				break
			}
			f.r.note(Lost, "", "metalayer "+name, -1, "%v", err)
			f.head.Metalayers = slices.DeleteFunc(f.head.Metalayers, func(l cframe.Metalayer) bool { return l.Name == name })
		}
		return nil
	}
	if err == nil {
		err = errors.New("its sizes or its kind contradict the file")
	}
	f.r.note(Lost, "", "header", 0, "%v", err)
	// The content of a metalayer follows the byte 0xC6 and a length of 4 bytes.
	for i := 0; i+5 < len(b); i++ {
		if b[i] != 0xC6 {
			continue
		}
		n := int64(binary.BigEndian.Uint32(b[i+1:]))
		if n > int64(len(b)-i-5) {
			continue
		}
		content := b[i+5:][:n]
		m, err := b2ndmeta.Parse(b2ndmeta.Name, content)
		if err == nil && m.Check() == nil && len(m.Shape) > 0 {
			f.meta = &m
			f.head.Metalayers = []cframe.Metalayer{{Name: b2ndmeta.Name, Content: content}}
			f.r.note(Guessed, "", "metalayer b2nd", int64(i)+5, "bytes that form a chunk: %v", m)
			return nil
		}
	}
	return nil
}

// readIndex finds the chunks and their order.
func (f *frame) readIndex(ctx context.Context, all int64) error {
	// The index should be at the offset that the header gives.
	if f.header {
		at := f.base
		if f.dir == "" {
			at += f.head.CBytes
		}
		if o, _, ok := f.indexAt(at); ok && int64(len(o)) == f.head.NumChunks() {
			if f.holds(o) {
				f.offsets = o
				return nil
			}
			if err := f.available(o); err != nil {
				return err
			}
		}
		f.r.note(Lost, "", "index", at, "no index for the %d chunks of the header", max(f.head.NumChunks(), 0))
	}
	f.r.seen.begin(all, all)
	if f.dir != "" {
		return f.listFiles(ctx)
	}
	return f.walk(ctx)
}

// indexAt reads the chunk at an offset of the file as an index.
func (f *frame) indexAt(at int64) ([]cframe.Offset, int64, bool) {
	if f.file == nil {
		return nil, 0, false
	}
	c, raw, err := f.chunkAt(at)
	if err != nil || c.n%8 != 0 || c.h.TypeSize != 8 || c.n == 0 || c.n > 8*maxChunks || (chunk.Policy{}).CheckHeader(&c.h) != nil || f.exhausted() {
		return nil, 0, false
	}
	values, ok := f.values(c, raw)
	if !ok {
		return nil, 0, false
	}
	o := make([]cframe.Offset, c.n/8)
	for i := range o {
		o[i] = cframe.Offset(binary.LittleEndian.Uint64(values[8*i:]))
		if o[i].Check() != nil || !o[i].IsSpecial() && f.dir == "" && int64(o[i]) > at {
			return nil, 0, false
		}
	}
	f.data = nil // an index can be much larger than a chunk
	return o, c.stored, true
}

// errNoChunk is the error of chunkAt for bytes that are not a chunk.
var errNoChunk = errors.New("no chunk")

// chunkAt reads the chunk at an offset of the file.
func (f *frame) chunkAt(at int64) (located, []byte, error) {
	var b [chunk.ExtendedHeaderSize]byte
	if at < 0 || at > f.size-int64(len(b)) {
		return located{}, nil, errNoChunk
	}
	if _, err := f.file.ReadAt(b[:], at); err != nil {
		return located{}, nil, err
	}
	c, ok := f.plausible(b[:], at)
	if !ok || c.stored > f.size-at {
		return c, nil, errNoChunk
	}
	f.r.work += c.stored
	raw := make([]byte, c.stored)
	if _, err := f.file.ReadAt(raw, at); err != nil {
		return c, nil, err
	}
	return c, raw, trusted.Check(raw)
}

// plausible reports whether b can be the header of a chunk of a frame.
func (f *frame) plausible(b []byte, at int64) (located, bool) {
	if b[0] < 3 || b[0] > chunk.MaxVersion || b[2]&(chunk.FlagShuffle|chunk.FlagBitShuffle) != chunk.FlagShuffle|chunk.FlagBitShuffle {
		return located{}, false
	}
	h, err := chunk.ParseHeader(b)
	if err != nil || trusted.CheckHeader(&h) != nil || int64(h.NBytes) > f.most || h.NBytes == 0 {
		return located{}, false
	}
	return located{at, int64(h.CBytes), int64(h.NBytes), h}, true
}

// decode decodes a chunk and reports whether it is valid. It returns no values for chunks that it
// accepts without decoding: those that only a frame can decode, special chunks, because their
// header contains everything, and any chunk after the work limit.
func (f *frame) decode(c located, raw []byte) ([]byte, bool) {
	if (chunk.Policy{}).CheckHeader(&c.h) != nil || c.h.Special != chunk.NotSpecial || f.exhausted() {
		return nil, true
	}
	return f.values(c, raw)
}

// exhausted reports whether the bytes that were read and decoded exceed the work limit for the
// file's size. Without the limit, nested chunks that each claim the rest of the file would take
// quadratic time.
func (f *frame) exhausted() bool { return f.r.work > minWork+f.bulk<<10 }

// minWork is the number of bytes of work that is allowed for any file. Tests reduce it.
var minWork int64 = 1 << 31

// values decodes a chunk.
func (f *frame) values(c located, raw []byte) ([]byte, bool) {
	f.r.work += c.n
	if int64(cap(f.data)) < c.n {
		f.data = make([]byte, c.n)
	}
	f.data = f.data[:c.n]
	n, err := f.pool.Decompress(f.data, raw)
	return f.data, err == nil && int64(n) == c.n
}

// walk searches the file for consecutive chunks, and for indexes among them.
func (f *frame) walk(ctx context.Context) error {
	at := f.base
	if !f.header {
		at = int64(binary.BigEndian.Uint32(f.bytes(11, 4))) // length of the header, if this field survived
		if c, raw, err := f.chunkAt(at); err != nil || !f.good(c, raw) {
			at = cframe.MinHeaderSize
		}
	}
	var indexes []int64
	var gaps []Finding
	for at < f.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.exhausted() {
			gaps = append(gaps, finding(Lost, "", "bytes", -1, at, fmt.Sprintf("%d that were not searched: those before took %d bytes of work", f.size-at, f.r.work)))
			break
		}
		if o, n, ok := f.indexAt(at); ok && f.matches(o, at) {
			indexes = append(indexes, at)
			at += n
			continue
		}
		c, raw, err := f.chunkAt(at)
		if err == nil && f.good(c, raw) {
			f.r.seen.more(c.stored)
			f.found = append(f.found, c)
			at += c.stored
			continue
		}
		next, err := f.next(ctx, at+1)
		if err != nil {
			return err
		}
		f.r.seen.more(next - at)
		if next < f.size || f.header && at < f.base+f.head.CBytes {
			gaps = append(gaps, finding(Lost, "", "bytes", -1, at, fmt.Sprintf("%d that are not chunks", next-at)))
		}
		at = next
	}
	if !f.header && len(f.found) > 0 {
		f.base = f.found[0].at
	}
	if len(indexes) == 0 {
		f.r.note(Guessed, "", "order of chunks", f.base, "that of the file")
		for _, g := range gaps { // with an index, gaps are old trailers, or chunks that are reported by their number
			f.r.add(g)
		}
	} else {
		last := indexes[len(indexes)-1]
		f.offsets, _, _ = f.indexAt(last)
		f.r.note(Certain, "", "index", last, "found by its content: %d chunks", len(f.offsets))
	}
	return nil
}

// holds reports whether an index is plausible: its entries are distinct, and more than half of the
// chunks exist.
func (f *frame) holds(o []cframe.Offset) bool {
	stored, there := 0, 0
	seen := map[cframe.Offset]bool{}
	for _, x := range o {
		if x.IsSpecial() {
			continue
		}
		if seen[x] {
			return false
		}
		seen[x] = true
		stored++
		c, _, err := f.load(x)
		f.r.seen.more(c.stored)
		if err == nil {
			there++
		}
	}
	return 2*there > stored || stored == 0
}

// matches reports whether an index is plausible: its entries are distinct, and walk has found more
// than half of the chunks. Corrupt chunks may be missing.
func (f *frame) matches(o []cframe.Offset, at int64) bool {
	base := f.base
	if !f.header && len(f.found) > 0 {
		base = f.found[0].at
	}
	stored, there := 0, 0
	seen := map[cframe.Offset]bool{}
	for _, x := range o {
		if x.IsSpecial() {
			continue
		}
		if seen[x] {
			return false
		}
		seen[x] = true
		stored++
		if _, ok := slices.BinarySearchFunc(f.found, base+int64(x), func(c located, at int64) int { return int(min(max(c.at-at, -1), 1)) }); ok {
			there++
		}
	}
	return stored > 0 && 2*there > stored || stored == 0 && f.header && int64(len(o)) == f.head.NumChunks()
}

// good reports whether a chunk decodes.
func (f *frame) good(c located, raw []byte) bool {
	_, ok := f.decode(c, raw)
	return ok
}

// next returns the first offset from at on where a valid chunk begins, or the end of the file.
func (f *frame) next(ctx context.Context, at int64) (int64, error) {
	const window = 1 << 20
	b := make([]byte, window+chunk.ExtendedHeaderSize)
	for ; at < f.size; at += window {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.file.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := 0; i < window && i+chunk.ExtendedHeaderSize <= n; i++ {
			if c, ok := f.plausible(b[i:], at+int64(i)); ok && c.stored <= f.size-c.at {
				if f.exhausted() {
					return c.at, nil // walk reports the limit
				}
				if c, raw, err := f.chunkAt(c.at); err == nil && f.good(c, raw) {
					return c.at, nil
				}
			}
		}
	}
	return f.size, nil
}

// bytes returns n bytes of the file, with zeros after its end.
func (f *frame) bytes(at int64, n int) []byte {
	b := make([]byte, n)
	if f.file != nil {
		_, _ = f.file.ReadAt(b, at) // bytes after the end are zeros
	}
	return b
}

// listFiles finds the chunk files of a sparse frame.
func (f *frame) listFiles(ctx context.Context) error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		digits, ok := strings.CutSuffix(e.Name(), ".chunk")
		k, err := strconv.ParseUint(digits, 16, 32)
		if !ok || err != nil || cframe.ChunkFile(cframe.Offset(format.Size(k))) != e.Name() {
			continue
		}
		c, raw, err := f.load(cframe.Offset(format.Size(k)))
		f.r.seen.more(c.stored)
		if err != nil || !f.good(c, raw) {
			f.r.add(finding(Lost, "", "chunk file "+e.Name(), -1, -1, "it does not decode"))
			continue
		}
		f.found = append(f.found, c)
	}
	slices.SortFunc(f.found, func(a, b located) int { return int(min(max(a.at-b.at, -1), 1)) })
	f.r.note(Guessed, "", "order of chunks", -1, "that of the numbers of %d files", len(f.found))
	return nil
}

// load reads the chunk of an index entry.
func (f *frame) load(o cframe.Offset) (located, []byte, error) {
	if f.dir == "" {
		return f.chunkAt(f.base + int64(o))
	}
	name := filepath.Join(f.dir, cframe.ChunkFile(o))
	info, err := os.Lstat(name)
	if err != nil {
		return located{}, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > f.most+chunk.ExtendedHeaderSize {
		return located{}, nil, errNoChunk
	}
	raw := make([]byte, info.Size())
	file, _, err := regularfile.Open(name)
	if err != nil {
		return located{}, nil, err
	}
	n, err := file.ReadAt(raw, 0)
	if err = errors.Join(err, file.Close()); err != nil && !errors.Is(err, io.EOF) {
		return located{}, nil, err
	}
	raw = raw[:n]
	if len(raw) < chunk.ExtendedHeaderSize {
		return located{}, nil, errNoChunk
	}
	c, ok := f.plausible(raw, int64(o))
	if !ok || c.stored > int64(len(raw)) {
		return c, nil, errNoChunk
	}
	raw = raw[:c.stored]
	return c, raw, trusted.Check(raw)
}

// readTrailer reads the metalayers of variable length. It needs a valid header and a trailer that
// ends at the frame size or at the end of the file.
func (f *frame) readTrailer() {
	if !f.header || !f.head.HasVLMetalayers || f.file == nil {
		return
	}
	bad := func(err error) { f.r.note(Lost, "", "metalayers of variable length", -1, "%v", err) }
	// The trailer ends with its length and the fingerprint.
	var t cframe.Trailer
	err := errors.New("no trailer")
	for _, end := range []int64{f.head.FrameSize, f.size} {
		if end < cframe.MinTrailerSize || end > f.size {
			continue
		}
		n := int64(binary.BigEndian.Uint32(f.bytes(end-22, 4)))
		if n < cframe.MinTrailerSize || n > end-f.base {
			continue
		}
		if t, err = cframe.ParseTrailer(f.bytes(end-n, int(n))); err == nil {
			break
		}
	}
	if err != nil {
		bad(err)
		return
	}
	for _, l := range t.VLMetalayers {
		if l.Name == cframe.ChecksumLayer { // of other chunks than those of the new file
			continue
		}
		h, err := chunk.ParseHeader(l.Content)
		if err == nil {
			err = chunk.Check(l.Content)
		}
		if err == nil && int64(h.NBytes) > f.most {
			err = fmt.Errorf("%d bytes", h.NBytes)
		}
		var content []byte
		if err == nil {
			content = make([]byte, h.NBytes)
			_, err = f.pool.Decompress(content, l.Content)
		}
		if err != nil {
			f.r.note(Lost, "", "metalayer "+l.Name, -1, "%v", err)
			f.r.LostObjects++
			continue
		}
		f.vlmeta = append(f.vlmeta, cblosc.Metalayer{Name: l.Name, Content: content})
	}
}

// places returns the chunks in order: the order of the index, or of the file without an index.
func (f *frame) places() []cframe.Offset {
	if f.offsets != nil {
		return f.offsets
	}
	o := make([]cframe.Offset, len(f.found))
	for i, c := range f.found {
		o[i] = cframe.Offset(c.at)
		if f.dir == "" {
			o[i] -= cframe.Offset(f.base)
		}
	}
	return o
}

// shape returns the element size, the chunk size, and the total size of the new frame in bytes.
func (f *frame) shape(n int64) (typeSize, chunkSize, total int64) {
	typeSize, chunkSize, total = int64(f.head.TypeSize), int64(f.head.ChunkSize), f.head.NBytes
	sizes := map[int64]int64{}
	for _, c := range f.found {
		sizes[c.n]++
	}
	if !f.header || chunkSize <= 0 {
		for size, count := range sizes {
			if chunkSize <= 0 || count > sizes[chunkSize] || count == sizes[chunkSize] && size > chunkSize {
				chunkSize = size
			}
		}
		if len(f.found) > 0 && !f.header {
			typeSize = int64(f.found[0].h.TypeSize)
		}
		total = -1
	}
	if f.meta != nil {
		if items := f.meta.ChunkItems(); items > 0 && chunkSize > 0 && chunkSize%items == 0 {
			typeSize = chunkSize / items
		}
		return typeSize, chunkSize, f.meta.NumChunks() * chunkSize
	}
	// The size in the header may be older or newer than the existing chunks.
	if whole := n * chunkSize; total < 0 || grid.DivUp(total, max(chunkSize, 1)) < n {
		total = whole
		if k := len(f.found); k > 0 && f.offsets == nil && f.found[k-1].n < chunkSize {
			total -= chunkSize - f.found[k-1].n
		}
	}
	return typeSize, chunkSize, total
}
