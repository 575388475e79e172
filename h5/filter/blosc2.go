//go:build cgo

// Blosc2 (32026): the filter stores a contiguous frame with one chunk. If the HDF5 chunk has more
// than one dimension, the frame is a b2nd array and stores its elements block by block. A part of
// the chunk can then be decoded from some of the blocks.

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
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// A payload is the content of one of the filter's frames.
type payload struct {
	chunk []byte // a Blosc2 chunk
	info  cblosc.ChunkInfo
	item  int          // element size in bytes
	array *guard.Array // nil: the elements are consecutive
	parts *guard.Parts // nil: the whole chunk is in memory
}

// nbytes returns the size of the elements, without the padding of blocks.
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

// open parses and validates a frame.
func (w *worker) open(src []byte) (*payload, error) {
	return w.openAt(bytes.NewReader(src), int64(len(src)), src)
}

// openAt is open for a frame that is in src. If src is nil, the frame is in r and the chunk is read
// only where needed.
func (w *worker) openAt(r io.ReaderAt, size int64, src []byte) (*payload, error) {
	d, err := w.decompressor()
	if err != nil {
		return nil, err
	}
	f, err := guard.OpenFrame(r, size, guard.Policy{})
	if err != nil {
		return nil, blame(err)
	}
	at, special, err := f.OneChunk(func(dst, chunk []byte) error {
		n, err := d.Decompress(dst, chunk)
		if err == nil && n != len(dst) {
			err = fmt.Errorf("%w: index of %d bytes, want %d", h5.ErrCorrupt, n, len(dst))
		}
		return err
	})
	if err != nil {
		return nil, blame(err)
	}
	p := &payload{item: f.TypeSize}
	if err := w.find(p, f, at, special, r, size, src); err != nil {
		return nil, err
	}
	m, ok, err := f.Array()
	if err != nil {
		return nil, blame(err)
	}
	if ok {
		if n := m.NumChunks(); n != 1 {
			return nil, fmt.Errorf("%w: an array of %d chunks, want 1", h5.ErrCorrupt, n)
		}
		if len(m.Shape) > 0 {
			p.array = &m
		}
	}
	return p, nil
}

// find sets the chunk, which is at byte at of the frame, or makes one if the index marks it as
// special.
func (w *worker) find(p *payload, f *guard.Frame, at int64, special int, r io.ReaderAt, size int64, src []byte) (err error) {
	switch {
	case special != 0:
		params := *cblosc.DefaultCParams()
		params.TypeSize = p.item
		if p.chunk, err = cblosc.SpecialChunk(&params, cblosc.Special(special), int(f.NBytes), nil); err != nil {
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
	whole := sized(&w.block, p.info.NBytes)
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

// oneBlock reports whether the array is a single block without padding, and is therefore stored
// like any other chunk.
func (p *payload) oneBlock() bool {
	for d, s := range p.array.Shape {
		if s != int64(p.array.Blocks[d]) {
			return false
		}
	}
	return true
}

// A blockGrid is the division of a chunk into blocks.
type blockGrid struct {
	shape, block []int64
	n            []int64 // number of blocks along each axis
	item         int
	total        int // number of blocks
	blockBytes   int
	strides      []int64 // of the chunk, in bytes
	inner        []int64 // strides of a block, in bytes
	start, count []int64 // of the current block in the chunk
}

func newGrid(shape []int64, blocks []int32, item int) *blockGrid {
	rank := len(shape)
	g := &blockGrid{
		shape: shape, block: make([]int64, rank), n: make([]int64, rank), item: item, total: 1, blockBytes: item,
		strides: boxes.Strides(shape, item), start: make([]int64, rank), count: make([]int64, rank),
	}
	for d, b := range blocks {
		g.block[d] = int64(b)
		g.n[d] = grid.DivUp(shape[d], g.block[d])
		g.total *= int(g.n[d])
		g.blockBytes *= int(b)
	}
	g.inner = boxes.Strides(g.block, item)
	return g
}

// at makes block k the current one.
func (g *blockGrid) at(k int) {
	for d := len(g.shape) - 1; d >= 0; d-- {
		i := int64(k) % g.n[d]
		k /= int(g.n[d])
		g.start[d] = i * g.block[d]
		g.count[d] = min(g.block[d], g.shape[d]-g.start[d])
	}
}

// between copies the current block to its position in the chunk, or from there.
func (g *blockGrid) between(chunk, block []byte, fromChunk bool) {
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

// A Part is a box of a chunk and the layout of its destination. Shapes are in elements.
type Part struct {
	Shape        []int64 // of the chunk
	Start, Count []int64 // the box
	Strides      []int64 // strides of the destination, in bytes
	Item         int     // element size in bytes
}

// DecodePart decodes a box of the chunk stored as src into dst. The first byte of dst is the first
// element of the box. DecodePart decodes little more than the blocks that contain the box and
// copies each element at most once.
//
// It must only be used if [Pipeline.Partial] returns true and the chunk has no mask. Errors are
// those of Decode.
func (p *Pipeline) DecodePart(dst, src []byte, part Part) error {
	w := take()
	defer put(w)
	f, err := w.open(src)
	if err == nil {
		err = w.decodePart(dst, f, &part)
	}
	if err != nil {
		return &Error{Op: "decode", Filter: IDBlosc2, Err: inFile(err)}
	}
	return nil
}

// DecodePartAt is DecodePart for a chunk stored as the first size bytes of r. It reads only the
// bytes it needs and returns how many bytes of blocks it has read.
func (p *Pipeline) DecodePartAt(dst []byte, r io.ReaderAt, size int64, part Part) (int64, error) {
	w := take()
	defer put(w)
	f, err := w.openAt(r, size, nil)
	if err == nil {
		err = w.decodePart(dst, f, &part)
	}
	if err != nil {
		return 0, &Error{Op: "decode", Filter: IDBlosc2, Err: inFile(err)}
	}
	if f.parts == nil {
		return 0, nil
	}
	return f.parts.BytesRead(), nil
}

// Partial reports whether a part of a chunk can be decoded without the rest. This is true if the
// only filter is Blosc2.
func (p *Pipeline) Partial() bool { return len(p.filters) == 1 && p.filters[0].ID == IDBlosc2 }

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
	// The shape of the frame differs from that of the chunk, or its chunk has another element size:
	// decode the whole chunk.
	whole := make([]byte, bytes)
	if _, err := w.decodeFrame(whole, p); err != nil {
		return err
	}
	part.pick(dst, whole, 0)
	return nil
}

// pick copies the box from the chunk's bytes, which begin at offset from.
func (t *Part) pick(dst, bytes []byte, from int64) {
	strides := boxes.Strides(t.Shape, t.Item)
	at := -from
	for d, s := range t.Start {
		at += s * strides[d]
	}
	b := boxes.New(t.Count, t.Strides, strides, t.Item)
	b.Copy(dst, bytes[at:])
}

// decodeRange decodes the blocks that contain elements of the box, in a chunk with consecutive
// elements. If these are most of the blocks, it decodes the whole chunk.
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
		whole = 4*int64(len(touched)) >= 3*grid.DivUp(size, block)
	}
	// Decode directly into dst if the box is contiguous in both the chunk and dst.
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
		all := sized(&w.block, p.info.NBytes)
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
	// Decode each block at its offset in the chunk; the bytes between are not touched.
	all := sized(&w.block, p.info.NBytes)
	for _, k := range touched {
		from, to := k*block, min((k+1)*block, size)
		if err := w.items(all[from:to], p, from/unit, to/unit); err != nil {
			return err
		}
	}
	part.pick(dst, all, 0)
	return nil
}

// blocks returns the indexes of the blocks that contain elements of the box, in ascending order.
// block is the size of a block in bytes. The chunk's elements must be consecutive.
func (t *Part) blocks(strides []int64, block int64) (touched []int64) {
	row := int64(t.Item) // contiguous bytes of the box
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

// decodeBlocks decodes the blocks that overlap the box, one at a time. If these are most of the
// blocks, it decodes the whole chunk.
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
		all = sized(&w.block, p.info.NBytes)
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
			block = sized(&w.block, g.blockBytes)
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

// A mold is a template for frames. All chunks of a dataset have the same frame except for the
// chunk's bytes and two numbers of the header.
type mold struct {
	params cblosc.CParams
	array  *guard.Array
	grid   *blockGrid
	nbytes int // size of the elements
	padded int // size of the elements with the padding of blocks
	header []byte
	tail   []byte // index and trailer
}

// Header offsets of the numbers that differ between chunks (README_CFRAME_FORMAT.rst).
const (
	frameSizeAt = 16
	cbytesAt    = 39
)

// molds caches molds by filter parameters and chunk size.
var molds struct {
	sync.Mutex
	m map[string]*mold
}

const maxMolds = 64

// moldOf returns the mold for chunks of n bytes. blocks is the block shape of the array; nil
// selects it by the parameters.
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
	head, cbytes, err := guard.FrameHeader(frame)
	if err != nil {
		return nil, err
	}
	m.header = frame[:head:head]
	m.tail = frame[int64(head)+cbytes:]
	if be := binary.BigEndian; be.Uint64(m.header[frameSizeAt:]) != uint64(len(frame)) || be.Uint64(m.header[cbytesAt:]) != uint64(cbytes) {
		return nil, fmt.Errorf("%w: a frame whose header lies otherwise", errors.ErrUnsupported)
	}
	return m, nil
}

// sample makes a frame with these parameters with C-Blosc2.
func (m *mold) sample() (frame []byte, err error) {
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true, CParams: &m.params})
	if err != nil {
		return nil, blame(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if m.array != nil {
		meta, err := cblosc.EncodeArrayMeta(m.array.Shape, m.array.Chunks, m.array.Blocks, fmt.Sprintf("|V%d", m.params.TypeSize))
		if err == nil {
			err = s.Meta().Add(guard.ArrayName, meta)
		}
		if err != nil {
			return nil, blame(err)
		}
	}
	// Nonzero data, so that the index has an ordinary entry.
	data := make([]byte, m.padded)
	data[len(data)-1] = 1
	if err := s.AppendBuffer(data); err != nil {
		return nil, blame(err)
	}
	return s.Bytes()
}

// blockTarget is the default block size of a b2nd array in bytes: small enough for the private
// cache of a core, large enough for the codecs.
const blockTarget = 64 << 10

// arrayOf returns the array described by the parameters. It has one chunk. Its blocks are halved
// along the longest axis until they have at most the requested size.
func arrayOf(values []uint32, item, n int) (*guard.Array, error) {
	rank := int(values[valueRank])
	if rank < 1 || rank > guard.MaxDims || len(values) < valueShape+rank {
		return nil, fmt.Errorf("%w: %d dimensions in %d filter parameters", h5.ErrParam, rank, len(values))
	}
	m := &guard.Array{Shape: make([]int64, rank), Chunks: make([]int32, rank), Blocks: make([]int32, rank)}
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
		return cblosc.MaxCompressedSize(n) // encoding reports the error
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
		blocks := sized(&w.block, m.padded)
		if m.padded != m.nbytes {
			clear(blocks)
		}
		for k := range m.grid.total {
			g := *m.grid // a copy, because start and count belong to this call
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
