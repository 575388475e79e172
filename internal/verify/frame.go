// Verification of Blosc2 frames: header, metalayers, trailer and index, then each chunk.

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// trusted contains the linked codecs and filters that do not check their bounds.
var trusted = chunk.Unchecked()

// frameUnit is a frame. Its tasks are its chunks.
type frameUnit struct {
	object  string
	head    *cframe.Frame
	offsets []cframe.Offset
	meta    *b2ndmeta.Meta // nil if the frame is not an array
	policy  chunk.Policy
	most    int64

	again []bool // chunks with the same offset as an earlier chunk; nil if there are no such chunks

	// Package cframe reads frames of format 3, whose chunks vary in length.
	variable bool
	file     io.Closer            // the file of a contiguous frame; nil if C-Blosc2 reads the chunks
	pool     *cblosc.Pool         // decodes chunks
	vl       *cblosc.Decompressor // decodes chunks with blocks of variable length; guarded by mu

	frame *frameio.Frame // nil if C-Blosc2 reads the chunks
	mu    sync.Mutex     // held during calls of lib
	lib   *cblosc.SChunk
}

// frame checks the frame at path and adds its chunks as tasks. The caller counts it in
// Report.Arrays, because the frame may also be a group's attributes.
func (j *job) frame(path, object string) (err error) {
	return j.frameIn(path, nil, object)
}

// frameIn is frame for the file at path, or for a frame in a store if in is not nil. It takes
// ownership of in.
func (j *job) frameIn(path string, in *stores.Frame, object string) (err error) {
	u := &frameUnit{object: object, most: j.opts.MaxChunk}
	if !j.opts.Untrusted {
		u.policy = trusted
	}
	bad := func(what string, err error) error {
		if err == nil {
			return nil
		}
		return j.note(Finding{Object: object, What: what, Offset: -1, Chunk: -1, Err: err})
	}
	r, size, err := frameSource(path, in)
	if err != nil {
		return err
	}
	defer func() {
		if u.file == nil && r != nil { // otherwise close closes it
			err = errors.Join(err, r.Close())
		}
	}()
	limits := cframe.Limits{Header: j.opts.MaxMetadata, Trailer: j.opts.MaxMetadata, Index: j.opts.MaxMetadata}
	if what, err := u.structure(path, r, size, limits); err != nil {
		return bad(what, err)
	}
	if u.offsets, err = u.index(j.pool); err != nil {
		return j.note(Finding{Object: object, What: "index", Offset: u.head.Index.Offset, Chunk: -1, Err: err})
	}
	if err := bad("element type", u.elementType()); err != nil {
		return err
	}
	if u.variable = u.head.VariableChunks() || u.head.VLBlocks(); u.variable {
		u.pool = j.pool
		u.vl, err = cblosc.NewDecompressor(nil)
	} else {
		l := &frameio.Limits{Header: limits.Header, Trailer: limits.Trailer, Index: limits.Index, Chunk: u.most, Checksums: true}
		if r != nil {
			u.frame, err = frameio.OpenReaderAt(r, size, l)
		} else {
			u.frame, err = frameio.Open(path, l)
		}
		if in == nil && errors.Is(err, errors.ErrUnsupported) && !j.opts.Untrusted {
			u.lib, err = cblosc.OpenSChunk(path)
		}
	}
	if err != nil {
		return bad("frame", err)
	}
	if r != nil && u.lib == nil {
		u.file = r
	}
	j.append(u)
	if err := j.twice(u); err != nil {
		return err
	}
	if err := u.metalayers(bad); err != nil {
		return err
	}
	if u.frame != nil && !j.opts.Untrusted && in == nil {
		// C-Blosc2 opens the frame too.
		s, err := cblosc.OpenSChunk(path)
		if err == nil {
			err = s.Close()
		}
		return bad("frame, read by the library", err)
	}
	return nil
}

// frameReader is an open contiguous frame.
type frameReader interface {
	io.ReaderAt
	io.Closer
}

// frameSource opens the file at path, or returns in. The reader is nil for a sparse frame.
func frameSource(path string, in *stores.Frame) (frameReader, int64, error) {
	if in != nil {
		return in, in.Size, nil
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return nil, 0, err
	}
	f, info, err := regularfile.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// structure reads the header, the trailer and the metalayer of the array. It returns the name of
// the structure for an error.
func (u *frameUnit) structure(path string, r frameReader, size int64, limits cframe.Limits) (what string, err error) {
	if r != nil {
		u.head, err = cframe.ReadLimits(r, size, limits)
	} else {
		u.head, err = cframe.ReadDirLimits(os.DirFS(path), limits)
	}
	if err == nil {
		err = u.head.CheckPolicy(u.policy)
	}
	if err != nil {
		return "frame", err
	}
	m, ok, err := u.head.Array()
	if err != nil || !ok {
		return "array metalayer", err
	}
	u.meta = &m
	for _, l := range u.head.Metalayers {
		if err := b2ndmeta.CheckStored(l.Name, l.Content); err != nil {
			return "array", err
		}
	}
	return "", nil
}

// index decodes the index.
func (u *frameUnit) index(pool *cblosc.Pool) ([]cframe.Offset, error) {
	return u.head.Offsets(func(dst, b []byte) error {
		n, err := pool.Decompress(dst, b)
		if err == nil && n != len(dst) {
			err = &format.Error{Format: "blosc2 frame", What: "index", Offset: u.head.Index.Offset, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprint(len(dst)), Err: format.ErrCorrupt}
		}
		return err
	})
}

// twice notes the chunks that have the position of another chunk.
func (j *job) twice(u *frameUnit) error {
	for i := range twice(u.offsets) {
		if u.again == nil {
			u.again = make([]bool, len(u.offsets))
		}
		u.again[i] = true
		p := u.place(i)
		p.Err = &format.Error{Format: "blosc2 frame", What: "index", Offset: p.Offset, Got: "another chunk has the same position", Want: "chunks that do not overlap", Err: format.ErrCorrupt}
		if err := j.note(p); err != nil {
			return err
		}
	}
	return nil
}

// defaultType is the element type that C-Blosc2 stores if the writer gives none.
const defaultType = "|u1"

// elementType compares the element type of an array with the bytes of an element. python-blosc2
// does not read the array if they differ.
func (u *frameUnit) elementType() error {
	if u.meta == nil || u.meta.DType == "" {
		return nil
	}
	if f := u.meta.DTypeFormat; f != 0 {
		return &format.Error{Format: "b2nd metalayer", What: "dtype_format", Got: fmt.Sprint(f), Want: "0, a NumPy type", Err: format.ErrUnsupported}
	}
	d, err := ndarray.ParseDType(u.meta.DType)
	if err != nil || d.Size == int(u.head.TypeSize) {
		return err
	}
	if u.meta.DType == defaultType {
		return fmt.Errorf("%w: %s, the default of C-Blosc2, for elements of %d bytes: python-blosc2 does not read them", ndarray.ErrType, defaultType, u.head.TypeSize)
	}
	return &format.Error{Format: "b2nd metalayer", What: "dtype", Got: fmt.Sprintf("%q of %d bytes", u.meta.DType, d.Size), Want: fmt.Sprintf("one of %d bytes, those of an element", u.head.TypeSize), Err: format.ErrCorrupt}
}

// metalayers decodes the metalayers of variable length.
func (u *frameUnit) metalayers(bad func(string, error) error) error {
	for _, l := range u.head.Trailer.VLMetalayers {
		var err error
		switch {
		case u.variable:
			_, err = u.decode(l.Content, new(scratch))
		case u.frame != nil:
			_, err = u.frame.VLMetalayer(l.Name)
		default:
			_, err = u.lib.VLMeta().Get(l.Name)
		}
		if err := bad(fmt.Sprintf("metalayer %q", l.Name), err); err != nil {
			return err
		}
	}
	return nil
}

// twice yields the chunks whose offset equals that of an earlier chunk in the index.
func twice(offsets []cframe.Offset) func(yield func(int64) bool) {
	return func(yield func(int64) bool) {
		var order []int64 // an index can have millions of special chunks, so memory is for stored ones
		for i, o := range offsets {
			if !o.IsSpecial() {
				order = append(order, int64(i))
			}
		}
		slices.SortStableFunc(order, func(a, b int64) int { return int(min(max(offsets[a]-offsets[b], -1), 1)) })
		for k := 1; k < len(order); k++ {
			if offsets[order[k]] == offsets[order[k-1]] && !yield(order[k]) {
				return
			}
		}
	}
}

func (u *frameUnit) tasks() int64 { return int64(len(u.offsets)) }

// need of a frame whose chunks differ in length is that of one chunk with all bytes.
func (u *frameUnit) need() int64 {
	if u.variable {
		return min(u.head.NBytes, u.most) + min(u.head.CBytes, u.most)
	}
	return 2 * min(int64(u.head.ChunkSize), u.most)
}

func (u *frameUnit) place(i int64) Finding {
	p := Finding{Object: u.object, What: "chunk", Chunk: i, Offset: -1}
	if o := u.offsets[i]; !o.IsSpecial() {
		if u.head.Type() == cframe.Sparse {
			p.File, p.Offset = cframe.ChunkFile(o), 0
		} else {
			p.Offset = int64(u.head.HeaderSize) + int64(o)
		}
	}
	if u.meta != nil {
		p.Coords = corner(i, u.meta.Shape, u.meta.Chunks)
	}
	return p
}

// corner returns the first element of chunk i of an array, in row-major order.
func corner(i int64, shape []int64, chunks []int32) []int64 {
	at := make([]int64, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		c := max(int64(chunks[d]), 1)
		n := max(grid.DivUp(shape[d], c), 1)
		at[d] = i % n * c
		i /= n
	}
	return at
}

func (u *frameUnit) check(_ context.Context, i int64, s *scratch) (r result, err error) {
	if u.variable {
		return u.checkVariable(i, s)
	}
	n := int64(u.head.ChunkSize)
	if n > 0 {
		n = min(n, u.head.NBytes-i*n)
	}
	if n > u.most {
		return r, &format.Error{Format: "blosc2 frame", What: "chunk", Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprintf("at most %d", u.most), Err: format.ErrLimit}
	}
	if u.frame == nil {
		return u.byLibrary(i, n, s)
	}
	if o := u.offsets[i]; o.IsSpecial() { // the frame reader has checked the entry
		return result{decoded: n, checksums: u.sums()}, u.blocks(i, chunk.Header{})
	}
	if u.again != nil && u.again[i] {
		return r, nil // already reported; decoding it again for each entry would be quadratic
	}
	r.checksums = u.sums()
	if s.raw, err = u.frame.Chunk(s.raw[:0], i); err != nil {
		return r, cause(err)
	}
	if err := u.policy.Check(s.raw); err != nil {
		return r, err
	}
	r.decoded, r.stored = n, int64(len(s.raw))
	h, err := chunk.ParseHeader(s.raw)
	if err != nil {
		return r, err
	}
	if err := u.blocks(i, h); err != nil {
		return r, err
	}
	if size := u.frame.TypeSize(); h.Special != chunk.NotSpecial && int64(size) < n { // all items are equal, so one is enough
		_, err = u.frame.Items(sized(&s.data, int64(size)), i, 0, 1)
	} else {
		_, err = u.frame.Decompress(sized(&s.data, n), i)
	}
	return r, cause(err)
}

// sums returns the number of checksums of a chunk that the frame reader compares.
func (u *frameUnit) sums() int64 {
	if u.frame.HasChecksums() {
		return 1
	}
	return 0
}

// blocks compares the blocks of a chunk with those of the array.
func (u *frameUnit) blocks(i int64, h chunk.Header) error {
	if u.meta == nil {
		return nil
	}
	return u.head.CheckBlocks(u.meta.BlockItems()*int64(u.head.TypeSize), i, u.offsets[i], h)
}

// checkVariable is check for a frame of format 3.
func (u *frameUnit) checkVariable(i int64, s *scratch) (r result, err error) {
	if u.offsets[i].IsSpecial() {
		return r, &format.Error{Format: "blosc2 frame", What: "index", Offset: u.head.Index.Offset, Got: u.offsets[i].String(), Want: "a stored chunk, because chunks differ in length", Err: format.ErrCorrupt}
	}
	if u.again != nil && u.again[i] {
		return r, nil
	}
	b, err := u.head.ReadChunk(u.offsets[i])
	if err != nil {
		return r, err
	}
	n, err := u.decode(b, s)
	return result{decoded: n, stored: int64(len(b))}, err
}

// decode decodes a chunk of any length and returns the number of decoded bytes.
func (u *frameUnit) decode(b []byte, s *scratch) (int64, error) {
	if err := u.policy.Check(b); err != nil {
		return 0, err
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return 0, err
	}
	n := int64(h.NBytes)
	if n > u.most {
		return 0, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", u.most), Err: format.ErrLimit}
	}
	if h.VLBlocks() {
		u.mu.Lock()
		defer u.mu.Unlock()
		return n, u.vl.DecompressVL(new(cblosc.Batch), b)
	}
	got, err := u.pool.Decompress(sized(&s.data, n), b)
	if err == nil && int64(got) != n {
		err = &format.Error{Format: "blosc chunk", What: "values", Got: fmt.Sprint(got), Want: fmt.Sprint(n), Err: format.ErrCorrupt}
	}
	return n, err
}

// byLibrary is check for chunks that only C-Blosc2 decodes, because their codecs need the array's
// metadata.
func (u *frameUnit) byLibrary(i, n int64, s *scratch) (r result, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	b, err := u.lib.Chunk(i)
	if err != nil {
		return r, err
	}
	if err := u.policy.Check(b); err != nil {
		return r, err
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return r, err
	}
	if n > 0 && int64(h.NBytes) != n {
		return r, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(h.NBytes), Want: fmt.Sprint(n), Err: format.ErrCorrupt}
	}
	n = int64(h.NBytes)
	if n > u.most {
		return r, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(n), Want: fmt.Sprintf("at most %d", u.most), Err: format.ErrLimit}
	}
	got, err := u.lib.DecompressChunk(sized(&s.data, n), i)
	if err == nil && int64(got) != n {
		err = &format.Error{Format: "blosc chunk", What: "values", Got: fmt.Sprint(got), Want: fmt.Sprint(n), Err: format.ErrCorrupt}
	}
	return result{decoded: n, stored: int64(len(b))}, err
}

// cause returns err without the operation and the path.
func cause(err error) error {
	if e, ok := errors.AsType[*frameio.Error](err); ok {
		return e.Err
	}
	return err
}

func (u *frameUnit) close() (err error) {
	if u.frame != nil {
		err = u.frame.Close()
	}
	if u.lib != nil {
		err = errors.Join(err, u.lib.Close())
	}
	if u.vl != nil {
		err = errors.Join(err, u.vl.Close())
	}
	if u.file != nil {
		err = errors.Join(err, u.file.Close())
	}
	return err
}
