//go:build cgo

// Blosc2 (32026): a contiguous frame with one chunk. If the chunk has more than
// one dimension the frame is a b2nd array, and its elements lie block by block, so
// that a part of the chunk can be had from a part of the blocks.

package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/b2nd"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/boxes"
	"github.com/hyperslab/hyperslab/internal/ceil"
)

// A payload is what a frame of the filter holds.
type payload struct {
	chunk []byte // one of Blosc2
	info  cblosc.ChunkInfo
	item  int          // bytes of an element
	array *b2nd.Meta   // nil: the elements lie one after the other
	parts *chunk.Parts // nil: all of chunk is there
}

// nbytes is the length of the elements, without what pads blocks.
func (p *payload) nbytes() int {
	if p.array == nil {
		return p.info.NBytes
	}
	n := p.item
	for _, s := range p.array.Shape {
		n *= int(s)
	}
	return n
}

// open takes a frame apart. Nothing in it is trusted.
func (w *worker) open(src []byte) (*payload, error) {
	return w.openAt(bytes.NewReader(src), int64(len(src)), src)
}

// openAt does so with a frame that src holds, or, if that is nil, of which the
// chunk is only read where it is needed.
func (w *worker) openAt(r io.ReaderAt, size int64, src []byte) (*payload, error) {
	d, err := w.decompressor()
	if err != nil {
		return nil, err
	}
	f, err := cframe.Read(r, size)
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return nil, blame(err)
	}
	if n := f.NumChunks(); n != 1 {
		return nil, fmt.Errorf("%w: a frame of %d chunks, want 1", h5.ErrCorrupt, n)
	}
	offsets, err := f.Offsets(func(dst, chunk []byte) error {
		n, err := d.Decompress(dst, chunk)
		if err == nil && n != len(dst) {
			err = fmt.Errorf("%w: index of %d bytes, want %d", h5.ErrCorrupt, n, len(dst))
		}
		return err
	})
	if err != nil {
		return nil, blame(err)
	}
	if len(offsets) != 1 {
		return nil, fmt.Errorf("%w: an index of %d chunks, want 1", h5.ErrCorrupt, len(offsets))
	}
	p := &payload{item: int(f.TypeSize)}
	if err := w.find(p, f, offsets[0], r, size, src); err != nil {
		return nil, err
	}
	m, ok, err := f.Array()
	if err != nil {
		return nil, blame(err)
	}
	if ok {
		if err := errors.Join(m.Check(), m.CheckStorage(f.TypeSize, f.ChunkSize, f.NBytes)); err != nil {
			return nil, blame(err)
		}
		if m.NumChunks() != 1 {
			return nil, fmt.Errorf("%w: an array of %d chunks, want 1", h5.ErrCorrupt, m.NumChunks())
		}
		if len(m.Shape) > 0 {
			p.array = &m
		}
	}
	return p, nil
}

// find gets the chunk, or makes one if the index says what is in it.
func (w *worker) find(p *payload, f *cframe.Frame, o cframe.Offset, r io.ReaderAt, size int64, src []byte) (err error) {
	at := int64(f.HeaderSize) + int64(o)
	switch {
	case o.IsSpecial():
		params := *cblosc.DefaultCParams()
		params.TypeSize = p.item
		if p.chunk, err = cblosc.SpecialChunk(&params, cblosc.Special(o.Special()), int(f.NBytes), nil); err != nil {
			return blame(err)
		}
	case at < 0 || at > size:
		return fmt.Errorf("%w: a chunk at byte %d of a frame of %d", h5.ErrCorrupt, at, size)
	case src != nil:
		p.chunk = src[at:]
	default:
		if p.parts, err = w.openParts(io.NewSectionReader(r, at, size-at)); err != nil {
			return err
		}
		p.chunk = p.parts.Bytes()
	}
	if p.info, err = cblosc.Info(p.chunk); err != nil {
		return blame(err)
	}
	if int64(p.info.NBytes) != f.NBytes {
		return fmt.Errorf("%w: a chunk of %d bytes in a frame of %d", h5.ErrCorrupt, p.info.NBytes, f.NBytes)
	}
	return nil
}

func (w *worker) decodeBlosc2(dst, src []byte) (int, error) {
	p, err := w.open(src)
	if err != nil {
		return 0, err
	}
	return w.decodeFrame(dst, p)
}

func (w *worker) decodeFrame(dst []byte, p *payload) (int, error) {
	if err := p.parts.All(); err != nil {
		return 0, err
	}
	n := p.nbytes()
	if n > len(dst) {
		return 0, fmt.Errorf("%w: buffer of %d bytes, the frame holds %d", h5.ErrSize, len(dst), n)
	}
	if p.array == nil || p.oneBlock() {
		return w.decodeChunk(dst, p.chunk, p.info)
	}
	whole := room(&w.block, p.info.NBytes)
	if _, err := w.decodeChunk(whole, p.chunk, p.info); err != nil {
		return 0, err
	}
	g := newGrid(p.array.Shape, p.array.Blocks, p.item)
	for k := range g.total {
		g.at(k)
		g.between(dst, whole[k*g.blockBytes:], false)
	}
	return n, nil
}

// oneBlock reports an array that is one block without padding, and so lies as any
// other chunk does.
func (p *payload) oneBlock() bool {
	for d, s := range p.array.Shape {
		if s != int64(p.array.Blocks[d]) {
			return false
		}
	}
	return true
}

// A grid is the blocks of a chunk of that shape.
type grid struct {
	shape, block []int64
	n            []int64 // blocks along each axis
	item         int
	total        int // blocks
	blockBytes   int
	strides      []int64 // of the chunk, bytes
	inner        []int64 // of a block
	start, count []int64 // of the current block in the chunk
}

func newGrid(shape []int64, blocks []int32, item int) *grid {
	rank := len(shape)
	g := &grid{
		shape: shape, block: make([]int64, rank), n: make([]int64, rank), item: item, total: 1, blockBytes: item,
		strides: boxes.Strides(shape, item), start: make([]int64, rank), count: make([]int64, rank),
	}
	for d, b := range blocks {
		g.block[d] = int64(b)
		g.n[d] = ceil.Div(shape[d], g.block[d])
		g.total *= int(g.n[d])
		g.blockBytes *= int(b)
	}
	g.inner = boxes.Strides(g.block, item)
	return g
}

// at makes block k the current one.
func (g *grid) at(k int) {
	for d := len(g.shape) - 1; d >= 0; d-- {
		i := int64(k) % g.n[d]
		k /= int(g.n[d])
		g.start[d] = i * g.block[d]
		g.count[d] = min(g.block[d], g.shape[d]-g.start[d])
	}
}

// between copies the current block to its place in the chunk, or from there.
func (g *grid) between(chunk, block []byte, fromChunk bool) {
	at := int64(0)
	for d, s := range g.start {
		at += s * g.strides[d]
	}
	if fromChunk {
		b := boxes.New(g.count, g.inner, g.strides, g.item)
		b.Copy(block, chunk[at:])
		return
	}
	b := boxes.New(g.count, g.strides, g.inner, g.item)
	b.Copy(chunk[at:], block)
}

// A Part is a box of a chunk and where its elements go. Shapes are in elements.
type Part struct {
	Shape        []int64 // of the chunk
	Start, Count []int64 // the box
	Strides      []int64 // bytes between neighbours along each axis of the destination
	Item         int     // bytes of an element
}

// DecodePart puts the elements of a box of the chunk that is stored as src where
// they belong in dst, whose first byte is the box's first element. It decodes
// little more than the blocks that hold them, and copies nothing twice.
//
// It works where [Pipeline.Partial] says so, and on chunks with no mask. Errors
// are those of Decode.
func (p *Pipeline) DecodePart(dst, src []byte, part Part) error {
	w := take()
	defer put(w)
	f, err := w.open(src)
	if err == nil {
		err = w.decodePart(dst, f, &part)
	}
	if err != nil {
		return &Error{Op: "decode", Filter: Blosc2, Err: tooLong(err)}
	}
	return nil
}

// DecodePartAt is DecodePart for a chunk that is stored as the first size bytes of
// r. Of them it reads what it needs, and returns how many bytes of blocks that was.
func (p *Pipeline) DecodePartAt(dst []byte, r io.ReaderAt, size int64, part Part) (int64, error) {
	w := take()
	defer put(w)
	f, err := w.openAt(r, size, nil)
	if err == nil {
		err = w.decodePart(dst, f, &part)
	}
	if err != nil {
		return 0, &Error{Op: "decode", Filter: Blosc2, Err: tooLong(err)}
	}
	if f.parts == nil {
		return 0, nil
	}
	return f.parts.BytesRead(), nil
}

// Partial reports whether a part of a chunk can be decoded without the rest: the
// only filter is Blosc2.
func (p *Pipeline) Partial() bool { return len(p.filters) == 1 && p.filters[0].ID == Blosc2 }

func (w *worker) decodePart(dst []byte, p *payload, part *Part) error {
	bytes := int64(part.Item)
	same := p.array != nil && p.item == part.Item && len(p.array.Shape) == len(part.Shape)
	for d, s := range part.Shape {
		bytes *= s
		same = same && p.array.Shape[d] == s
	}
	if n := p.nbytes(); int64(n) != bytes {
		return fmt.Errorf("%w: %d bytes, the chunk has %d", h5.ErrCorrupt, n, bytes)
	}
	switch {
	case same && p.info.TypeSize == part.Item:
		return w.decodeBlocks(dst, p, part)
	case p.array == nil:
		return w.decodeRange(dst, p, part)
	}
	// A frame of another shape than the chunk, or with elements that its chunk does
	// not know: all of it.
	whole := make([]byte, bytes)
	if _, err := w.decodeFrame(whole, p); err != nil {
		return err
	}
	part.pick(dst, whole, 0)
	return nil
}

// pick copies the box from bytes of the chunk that begin at byte from.
func (t *Part) pick(dst, bytes []byte, from int64) {
	strides := boxes.Strides(t.Shape, t.Item)
	at := -from
	for d, s := range t.Start {
		at += s * strides[d]
	}
	b := boxes.New(t.Count, t.Strides, strides, t.Item)
	b.Copy(dst, bytes[at:])
}

// decodeRange decodes the blocks that hold elements of the box, in a chunk whose
// elements lie one after the other, unless that is most of them.
func (w *worker) decodeRange(dst []byte, p *payload, part *Part) error {
	strides := boxes.Strides(part.Shape, part.Item)
	first, last, n := int64(0), int64(part.Item), int64(part.Item)
	for d, c := range part.Count {
		first += part.Start[d] * strides[d]
		last += (part.Start[d] + c - 1) * strides[d]
		n *= c
	}
	unit, size, block := int64(p.info.TypeSize), int64(p.info.NBytes), int64(p.info.BlockSize)
	whole := p.info.Special != cblosc.NotSpecial || size%unit != 0 || block == 0 || block%unit != 0
	var touched []int64
	if !whole {
		touched = part.blocks(strides, block)
		whole = 4*int64(len(touched)) >= 3*ceil.Div(size, block)
	}
	// Straight to its place if the box is one piece, here and there.
	box := boxes.New(part.Count, part.Strides, boxes.Strides(part.Count, part.Item), part.Item)
	straight := box.Dense() && last-first == n
	if whole {
		if err := p.parts.All(); err != nil {
			return err
		}
		if straight && n == size {
			_, err := w.decodeChunk(dst[:n], p.chunk, p.info)
			return err
		}
		all := room(&w.block, p.info.NBytes)
		if _, err := w.decodeChunk(all, p.chunk, p.info); err != nil {
			return err
		}
		part.pick(dst, all, 0)
		return nil
	}
	for _, k := range touched {
		if err := p.parts.Block(int(k), int(block)); err != nil {
			return err
		}
	}
	if straight && first%unit == 0 && last%unit == 0 {
		return w.items(dst[:n], p, first/unit, last/unit)
	}
	// Each where it is in the chunk; what is between them is not touched.
	all := room(&w.block, p.info.NBytes)
	for _, k := range touched {
		from, to := k*block, min((k+1)*block, size)
		if err := w.items(all[from:to], p, from/unit, to/unit); err != nil {
			return err
		}
	}
	part.pick(dst, all, 0)
	return nil
}

// blocks are the numbers of the blocks of so many bytes that hold elements of the box, in
// order, if the elements lie one after the other.
func (t *Part) blocks(strides []int64, block int64) (touched []int64) {
	row := int64(t.Item) // of the box, in one piece
	axes := len(t.Shape)
	for axes > 0 && row == strides[axes-1] {
		axes--
		row *= t.Count[axes]
		if t.Count[axes] != t.Shape[axes] {
			break
		}
	}
	at := make([]int64, axes)
	for {
		from := int64(0)
		for d, s := range t.Start {
			from += s * strides[d]
			if d < axes {
				from += at[d] * strides[d]
			}
		}
		k := from / block
		if n := len(touched); n > 0 {
			k = max(k, touched[n-1]+1)
		}
		for ; k*block < from+row; k++ {
			touched = append(touched, k)
		}
		d := axes - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] < t.Count[d] {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			return touched
		}
	}
}

func (w *worker) items(dst []byte, p *payload, from, to int64) error {
	d, err := w.decompressor()
	if err != nil {
		return err
	}
	_, err = d.Items(dst, p.chunk, int(from), int(to-from))
	return blame(err)
}

// decodeBlocks decodes the blocks that the box touches, each alone, unless that is
// most of them.
func (w *worker) decodeBlocks(dst []byte, p *payload, part *Part) error {
	g := newGrid(p.array.Shape, p.array.Blocks, p.item)
	rank := len(part.Start)
	first, last, touched := make([]int64, rank), make([]int64, rank), 1
	for d, s := range part.Start {
		first[d] = s / g.block[d]
		last[d] = (s + part.Count[d] - 1) / g.block[d]
		touched *= int(last[d] - first[d] + 1)
	}
	whole := 4*touched >= 3*g.total || p.info.Special == cblosc.Uninit
	var all []byte
	if whole {
		if err := p.parts.All(); err != nil {
			return err
		}
		all = room(&w.block, p.info.NBytes)
		if _, err := w.decodeChunk(all, p.chunk, p.info); err != nil {
			return err
		}
	}
	perBlock := int64(g.blockBytes / p.item)
	at := append([]int64(nil), first...)
	n := make([]int64, rank)
	for {
		k, to, from := int64(0), int64(0), int64(0)
		for d := range at {
			k = k*g.n[d] + at[d]
			lo := max(part.Start[d], at[d]*g.block[d])
			hi := min(part.Start[d]+part.Count[d], (at[d]+1)*g.block[d])
			n[d] = hi - lo
			to += (lo - part.Start[d]) * part.Strides[d]
			from += (lo - at[d]*g.block[d]) * g.inner[d]
		}
		var block []byte
		if whole {
			block = all[int(k)*g.blockBytes:]
		} else {
			block = room(&w.block, g.blockBytes)
			if err := p.parts.Block(int(k), g.blockBytes); err != nil {
				return err
			}
			if err := w.items(block, p, k*perBlock, (k+1)*perBlock); err != nil {
				return err
			}
		}
		b := boxes.New(n, part.Strides, g.inner, p.item)
		b.Copy(dst[to:], block[from:])
		d := rank - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] <= last[d] {
				break
			}
			at[d] = first[d]
		}
		if d < 0 {
			return nil
		}
	}
}

// ---------- writing ----------

// A mold is a frame with another chunk in it: all but the chunk's bytes and three
// numbers of the header are the same for every chunk of a dataset.
type mold struct {
	params cblosc.CParams
	array  *b2nd.Meta
	grid   *grid
	nbytes int // of the elements
	padded int // of the elements with what pads blocks
	header []byte
	tail   []byte // index and trailer
}

// Where the header has what differs (README_CFRAME_FORMAT.rst).
const (
	frameSizeAt = 16
	cbytesAt    = 39
)

// molds keeps those that were used, by the parameters and the size of a chunk.
var molds struct {
	sync.Mutex
	m map[string]*mold
}

const maxMolds = 64

// moldOf returns the mold for chunks of n bytes; blocks are those of the array, nil for
// what the parameters ask for.
func moldOf(values []uint32, n int, blocks []int32) (*mold, error) {
	key := make([]byte, 0, 4*(len(values)+len(blocks))+16)
	key = binary.NativeEndian.AppendUint64(key, uint64(len(blocks)))
	for _, b := range blocks {
		key = binary.NativeEndian.AppendUint32(key, uint32(b))
	}
	for _, v := range values {
		key = binary.NativeEndian.AppendUint32(key, v)
	}
	key = binary.NativeEndian.AppendUint64(key, uint64(n))
	molds.Lock()
	defer molds.Unlock()
	if m := molds.m[string(key)]; m != nil {
		return m, nil
	}
	m, err := newMold(values, n, blocks)
	if err != nil {
		return nil, err
	}
	if molds.m == nil || len(molds.m) >= maxMolds {
		molds.m = map[string]*mold{}
	}
	molds.m[string(key)] = m
	return m, nil
}

func newMold(values []uint32, n int, blocks []int32) (*mold, error) {
	p, err := bloscParams(values)
	if err != nil {
		return nil, err
	}
	m := &mold{params: p, nbytes: n, padded: n}
	if len(values) > valueRank {
		if m.array, err = arrayOf(values, p.TypeSize, n); err != nil {
			return nil, err
		}
	}
	if blocks != nil {
		if m.array == nil || len(blocks) != len(m.array.Shape) {
			return nil, fmt.Errorf("%w: blocks of %d in filter parameters %d", h5.ErrParam, blocks, values)
		}
		m.array.Blocks = blocks
		if err := m.array.Check(); err != nil {
			return nil, fmt.Errorf("%w: %w", h5.ErrParam, err)
		}
	}
	if m.array != nil {
		m.grid = newGrid(m.array.Shape, m.array.Blocks, p.TypeSize)
		m.padded = m.grid.total * m.grid.blockBytes
		m.params.BlockSize = m.grid.blockBytes
	} else if len(values) > valueBlock && values[valueBlock] <= uint32(n) {
		m.params.BlockSize = int(values[valueBlock])
	}
	if m.padded > math.MaxInt32-cblosc.MaxCompressedSize(0) {
		return nil, fmt.Errorf("%w: chunk of %d bytes", h5.ErrParam, m.padded)
	}
	if err := m.params.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", h5.ErrParam, err)
	}
	frame, err := m.sample()
	if err != nil {
		return nil, err
	}
	h, err := cframe.ParseHeader(frame)
	if err != nil {
		return nil, err
	}
	m.header = frame[:h.HeaderSize:h.HeaderSize]
	m.tail = frame[int64(h.HeaderSize)+h.CBytes:]
	if be := binary.BigEndian; be.Uint64(m.header[frameSizeAt:]) != uint64(len(frame)) || be.Uint64(m.header[cbytesAt:]) != uint64(h.CBytes) {
		return nil, fmt.Errorf("%w: a frame whose header lies otherwise", errors.ErrUnsupported)
	}
	return m, nil
}

// sample has the library make a frame of those parameters.
func (m *mold) sample() (frame []byte, err error) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true, CParams: &m.params})
	if err != nil {
		return nil, blame(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if m.array != nil {
		if err := s.Meta().Add(b2nd.Name, m.array.Append(nil)); err != nil {
			return nil, blame(err)
		}
	}
	// Data that are stored, so that the index has an ordinary entry.
	data := make([]byte, m.padded)
	data[len(data)-1] = 1
	if err := s.AppendBuffer(data); err != nil {
		return nil, blame(err)
	}
	return s.Bytes()
}

// blockTarget is the bytes of a block of a b2nd array that nobody asked a size
// for: small enough for a core's own cache, large enough for the codecs.
const blockTarget = 64 << 10

// arrayOf is the array that the parameters describe: one chunk, in blocks of about
// the size that was asked for, halved along the longest axes.
func arrayOf(values []uint32, item, n int) (*b2nd.Meta, error) {
	rank := int(values[valueRank])
	if rank < 1 || rank > b2nd.MaxDims || len(values) < valueShape+rank {
		return nil, fmt.Errorf("%w: %d dimensions in %d filter parameters", h5.ErrParam, rank, len(values))
	}
	m := &b2nd.Meta{Shape: make([]int64, rank), Chunks: make([]int32, rank), Blocks: make([]int32, rank), DType: fmt.Sprintf("|V%d", item)}
	bytes := item
	for d := range rank {
		v := values[valueShape+d]
		if v < 1 || v > math.MaxInt32 || bytes > n {
			return nil, fmt.Errorf("%w: filter parameters %d for a chunk of %d bytes", h5.ErrParam, values, n)
		}
		m.Shape[d], m.Chunks[d], m.Blocks[d] = int64(v), int32(v), int32(v)
		bytes *= int(v)
	}
	if bytes != n {
		return nil, fmt.Errorf("%w: filter parameters %d for a chunk of %d bytes", h5.ErrParam, values, n)
	}
	target := blockTarget
	if values[valueBlock] > 0 {
		target = int(values[valueBlock])
	}
	for bytes > target {
		longest := 0
		for d, b := range m.Blocks {
			if b > m.Blocks[longest] {
				longest = d
			}
		}
		b := m.Blocks[longest]
		if b == 1 {
			break
		}
		m.Blocks[longest] = (b + 1) / 2
		bytes = bytes / int(b) * int(m.Blocks[longest])
	}
	return m, nil
}

func blosc2Bound(values []uint32, n int) int {
	m, err := moldOf(values, n, nil)
	if err != nil {
		return cblosc.MaxCompressedSize(n) // encoding says what is wrong
	}
	return len(m.header) + cblosc.MaxCompressedSize(m.padded) + len(m.tail)
}

func (w *worker) encodeBlosc2(values []uint32, dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, fmt.Errorf("%w: no data", h5.ErrParam)
	}
	m, err := moldOf(values, len(src), nil)
	if err != nil {
		return 0, err
	}
	c, err := w.compressor(m.params)
	if err != nil {
		return 0, blame(err)
	}
	if m.grid != nil && m.grid.total > 1 {
		blocks := room(&w.block, m.padded)
		if m.padded != m.nbytes {
			clear(blocks)
		}
		for k := range m.grid.total {
			g := *m.grid // of this call: start and count are
			g.start, g.count = make([]int64, len(g.shape)), make([]int64, len(g.shape))
			g.at(k)
			g.between(src, blocks[k*g.blockBytes:], true)
		}
		src = blocks
	}
	if len(dst) < len(m.header)+len(m.tail) {
		return 0, fmt.Errorf("%w: buffer of %d bytes for a frame", h5.ErrSize, len(dst))
	}
	body := dst[len(m.header) : len(dst)-len(m.tail)]
	n, err := c.Compress(body, src)
	if err != nil {
		return 0, blame(err)
	}
	total := copy(dst, m.header) + n
	total += copy(dst[total:], m.tail)
	binary.BigEndian.PutUint64(dst[frameSizeAt:], uint64(total))
	binary.BigEndian.PutUint64(dst[cbytesAt:], uint64(n))
	return total, nil
}
