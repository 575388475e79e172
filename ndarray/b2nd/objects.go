// Frames of Python objects: ObjectArray, BatchArray and ListArray of python-blosc2.

package b2nd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Metalayers that python-blosc2 writes. An ObjectArray stores one object per chunk, and a
// BatchArray one list of objects per chunk, in blocks that are lists too. A ListArray is one of
// both, and its elements are lists or null.
const (
	objectLayer = b2store.ObjectLayer
	batchLayer  = b2store.BatchLayer
	listLayer   = b2store.ListLayer

	batchLengths = "_batch_array_metadata" // a variable-length metalayer
)

// maxObjects is the maximum size of the objects in one chunk in bytes.
const maxObjects = 512 << 20

// objects are the elements of an array of objects, as JSON.
type objects struct {
	head    *cframe.Frame
	offsets []cframe.Offset
	batches bool    // a chunk is a list of objects
	items   bool    // the elements are the objects of all batches, not the batches
	starts  []int64 // number of the first element of each chunk, and their sum; nil: one element per chunk

	mu     sync.Mutex // guards the following
	d      *cblosc.Decompressor
	loaded int64 // chunk in cache; -1: none
	cache  []any
}

// openObjects reads the index of an array of objects.
func openObjects(r io.ReaderAt, size int64) (_ *objects, err error) {
	head, err := cframe.Read(r, size)
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	o := &objects{head: head, loaded: -1}
	if err := head.Check(); err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	if o.d, err = cblosc.NewDecompressor(nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.d.Close())
		}
	}()
	if o.offsets, err = head.Offsets(func(dst, b []byte) error { _, err := o.d.Decompress(dst, b); return err }); err != nil {
		return nil, err
	}
	meta := objectLayer
	if _, o.batches = head.Metalayer(batchLayer); o.batches {
		meta = batchLayer
	}
	content, _ := head.Metalayer(meta)
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	m, _ := v.(msgpack.Map)
	if s, _ := m.Get("serializer"); s != any("msgpack") {
		return nil, fmt.Errorf("%w: objects or lists serialized as %v: want msgpack, the other serializer of python-blosc2", errors.ErrUnsupported, s)
	}
	if _, o.items = head.Metalayer(listLayer); o.items || o.batches && role(head) {
		if o.items = o.batches; o.items {
			return o, o.count()
		}
	}
	return o, nil
}

// role reports whether a batch array is a column of a CTable, whose elements are the objects.
func role(head *cframe.Frame) bool {
	_, is := head.Metalayer("ctable_varlen_scalar")
	return is
}

// count finds the number of objects in each chunk.
func (o *objects) count() error {
	o.starts = make([]int64, 1, len(o.offsets)+1)
	if lengths, ok := o.lengths(); ok {
		for _, n := range lengths {
			o.starts = append(o.starts, o.starts[len(o.starts)-1]+n)
		}
		return nil
	}
	for i := range o.offsets {
		all, err := o.chunk(int64(i))
		if err != nil {
			return err
		}
		o.starts = append(o.starts, o.starts[i]+int64(len(all)))
	}
	return nil
}

// lengths returns the number of objects in each chunk from the metalayer, if it is valid.
func (o *objects) lengths() (out []int64, ok bool) {
	b, has := o.head.Trailer.VLMetalayer(batchLengths)
	if !has {
		return nil, false
	}
	content, err := o.decode(b)
	if err != nil {
		return nil, false
	}
	v, err := msgpack.Parse(content)
	if err != nil {
		return nil, false
	}
	m, _ := v.(msgpack.Map)
	list, _ := m.Get("batch_lengths")
	all, _ := list.([]any)
	for _, x := range all {
		n, is := x.(int64)
		if !is || n < 0 || n > 1<<40 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) == len(o.offsets)
}

// decode decodes a chunk without blocks of variable length.
func (o *objects) decode(b []byte) ([]byte, error) {
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	if n := int64(h.NBytes); n > maxObjects || n > 64<<20 && n>>12 > int64(len(b)) {
		return nil, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprintf("%d bytes, stored in %d", n, len(b)), Want: fmt.Sprintf("at most %d", maxObjects), Err: format.ErrLimit}
	}
	dst := make([]byte, h.NBytes)
	n, err := o.d.Decompress(dst, b)
	if err != nil {
		return nil, err
	}
	return dst[:n], nil
}

// chunk returns the objects of a chunk. The caller must hold mu, except in openObjects.
func (o *objects) chunk(i int64) ([]any, error) {
	if o.loaded == i {
		return o.cache, nil
	}
	if o.offsets[i].IsSpecial() {
		return nil, fmt.Errorf("%w: chunk %d: got %v, want a stored chunk of objects", ndarray.ErrCorrupt, i, o.offsets[i])
	}
	b, err := o.head.ReadChunk(o.offsets[i])
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	if err := (chunk.Policy{}).Check(b); err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	h, err := chunk.ParseHeader(b)
	if err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	var blocks [][]byte
	if h.VLBlocks() {
		if int64(h.NBytes) > maxObjects {
			return nil, &format.Error{Format: "blosc chunk", What: "nbytes", Offset: 4, Got: fmt.Sprint(h.NBytes), Want: fmt.Sprintf("at most %d", maxObjects), Err: format.ErrLimit}
		}
		var batch cblosc.Batch
		if err := o.d.DecompressVL(&batch, b); err != nil {
			return nil, err
		}
		for _, x := range batch.All() {
			blocks = append(blocks, x)
		}
	} else {
		content, err := o.decode(b)
		if err != nil {
			return nil, err
		}
		blocks = [][]byte{content}
	}
	var all []any
	for _, content := range blocks {
		v, err := msgpack.Parse(content)
		if err != nil {
			return nil, errs.Mark(fmt.Errorf("chunk %d: %w", i, err), ndarray.ErrCorrupt)
		}
		if !o.batches {
			all = append(all, v)
			continue
		}
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("%w: chunk %d: got %T, want a list of objects", ndarray.ErrCorrupt, i, v)
		}
		all = append(all, list...)
	}
	o.loaded, o.cache = i, all
	return all, nil
}

// len returns the number of elements.
func (o *objects) len() int64 {
	if o.starts != nil {
		return o.starts[len(o.starts)-1]
	}
	return int64(len(o.offsets))
}

// read stores the elements from start on in dst, as JSON.
func (o *objects) read(ctx context.Context, dst []string, start int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range dst {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, at := start+int64(i), int64(0)
		c := n
		if o.starts != nil {
			c = int64(sort.Search(len(o.offsets), func(k int) bool { return o.starts[k+1] > n }))
			at = n - o.starts[c]
		}
		all, err := o.chunk(c)
		if err != nil {
			return err
		}
		switch {
		case o.batches && !o.items:
			if all == nil {
				all = []any{}
			}
			dst[i] = string(msgpack.AppendJSON(nil, all))
		case at >= int64(len(all)) || !o.batches && len(all) != 1:
			return fmt.Errorf("%w: chunk %d: got %d objects, want element %d", ndarray.ErrCorrupt, c, len(all), at)
		default:
			dst[i] = string(msgpack.AppendJSON(nil, all[at]))
		}
	}
	return nil
}

// meta returns the Meta of the array.
func (o *objects) meta(name string) ndarray.Meta {
	cp := &cblosc.CParams{Codec: cblosc.Codec(o.head.Codec()), Level: o.head.Level()}
	for i, id := range o.head.Filters {
		cp.Filters[i].ID = cblosc.FilterID(id)
	}
	return ndarray.Meta{Format: detect.Objects, Path: name, Shape: []int64{o.len()}, DType: ndarray.Text("").DType, Compression: compression(cp), ReadOnly: true}
}

// objectLayers are the variable-length metalayers of an array of objects.
type objectLayers struct{ o *objects }

func (l objectLayers) Names() (names []string, err error) {
	for _, m := range l.o.head.Trailer.VLMetalayers {
		if m.Name != batchLengths {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

func (l objectLayers) Get(name string) ([]byte, error) {
	b, _ := l.o.head.Trailer.VLMetalayer(name)
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	return l.o.decode(b)
}

func (l objectLayers) Size(name string) (int64, int64, error) {
	b, _ := l.o.head.Trailer.VLMetalayer(name)
	h, err := chunk.ParseHeader(b)
	return int64(h.NBytes), int64(len(b)), err
}

// noLayers are the fixed metalayers of an array of objects, which describe how objects are stored.
type noLayers struct{}

func (noLayers) Names() ([]string, error)          { return nil, nil }
func (noLayers) Get(string) ([]byte, error)        { return nil, nil }
func (noLayers) Size(string) (int64, int64, error) { return 0, 0, nil }
