// Structures that no file of the library shows, for the table of coverage.

package hdf5

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/format"
)

// Crafted returns, described, version 2 B-trees of the types that no file has: records for
// the library's own tests, and those of huge objects whose ids say where they are; and
// the ids of objects in heaps, of every form, with what each leads to.
func Crafted(t testing.TB) format.Field {
	t.Helper()
	root := format.Field{Name: "crafted"}
	add := func(r *reader) {
		require.NoError(t, r.first)
		root.Fields = append(root.Fields, r.fields...)
	}
	r := bare(smallTree(testRecords, make([]byte, 8)))
	r.tracing = true
	w := &walk2{r: r, treeType: testRecords, recordSize: 8}
	w.record = func(p *part) any { return p.u64("value") }
	w.visit = func(any) bool { return true }
	w.run(0)
	add(r)
	for treeType, filtered := range map[byte]bool{hugeDirect: false, hugeDirectFiltered: true} {
		record := make([]byte, 16)
		h := &FractalHeap{IDLength: 33}
		if filtered {
			record, h.Pipeline = make([]byte, 28), &Pipeline{}
		}
		r := bare(smallTree(treeType, record))
		r.tracing = true
		r.hugeRecords(h, func(uint64, hugeObject) {})
		add(r)
	}

	ids := format.Field{Name: "forms of heap IDs"}
	le := binary.LittleEndian
	file := append(make([]byte, 100), "the object itself"...)
	direct := le.AppendUint64(le.AppendUint64([]byte{0x10}, 100), 17)
	filtered := le.AppendUint64(le.AppendUint32(direct[:17:17], 1), 17) // the filter is left out
	extended := make([]byte, 402)
	extended[0], extended[1] = 0x21, 0x8F
	for _, x := range []struct {
		name string
		id   []byte
		heap *FractalHeap
		want int // bytes of the object
	}{
		{"tiny object, normal", []byte{0x23, 1, 2, 3, 4}, &FractalHeap{IDLength: 5}, 4},
		{"tiny object, extended", extended, &FractalHeap{IDLength: 402}, 400},
		{"huge object, its place", direct, &FractalHeap{IDLength: 17}, 17},
		{"huge object, its place, filtered", filtered, &FractalHeap{IDLength: 29, Pipeline: &Pipeline{Filters: []Filter{{ID: Deflate}}}}, 17},
		{"huge object, its number", []byte{0x10, 5, 0, 0, 0, 0, 0, 0}, &FractalHeap{IDLength: 8, huge: map[uint64]hugeObject{5: {addr: 100, length: 17}}}, 17},
		{"huge object, its number, filtered", []byte{0x10, 5, 0, 0, 0, 0, 0, 0}, &FractalHeap{
			IDLength: 8, Pipeline: &Pipeline{Filters: []Filter{{ID: Deflate}}}, huge: map[uint64]hugeObject{5: {addr: 100, length: 17, mask: 1, size: 17}},
		}, 17},
	} {
		p, err := bare(file).locateObject(x.heap, x.id, "object")
		require.NoError(t, err, x.name)
		require.Len(t, p.b, x.want, x.name)
		ids.Fields = append(ids.Fields, format.Field{Name: x.name})
	}
	root.Fields = append(root.Fields, ids)
	return root
}
