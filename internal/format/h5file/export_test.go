// Structures that libhdf5 writes into no file, for the coverage table.

package h5file

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Crafted returns descriptions of structures that occur in no test file: version 2 B-trees with
// libhdf5's test records and with records of huge objects whose ids contain their address; heap ids
// of every form, with their objects; references to shared messages, of every version and type; and
// free-space sections of heaps, of the types that libhdf5 cannot read.
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
	filtered := le.AppendUint64(le.AppendUint32(direct[:17:17], 1), 17) // the filter is omitted
	extended := make([]byte, 402)
	extended[0], extended[1] = 0x21, 0x8F
	for _, x := range []struct {
		name string
		id   []byte
		heap *FractalHeap
		want int // size of the object in bytes
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
	root.Fields = append(root.Fields, craftedReferences(t)...)
	root.Fields = append(root.Fields, craftedSections(t)...)
	return root
}

// craftedReferences returns descriptions of references to shared messages.
func craftedReferences(t testing.TB) (all []format.Field) {
	address := []byte{100, 0, 0, 0, 0, 0, 0, 0}
	for _, x := range []struct {
		b    []byte
		want SharedRef
	}{
		{append(make([]byte, 14), address...), SharedRef{Version: 1, Type: SharedCommitted, Addr: 100}},
		{address, SharedRef{Version: 2, Type: SharedCommitted, Addr: 100}},
		{address, SharedRef{Version: 3, Type: SharedInHeap, Addr: Undefined, HeapID: address}},
		{address, SharedRef{Version: 3, Type: SharedCommitted, Addr: 100}},
		{address, SharedRef{Version: 3, Type: SharedHere, Addr: 100}},
	} {
		kind := byte(x.want.Type)
		if x.want.Version < 3 {
			kind = 0 // older versions have one type only
		}
		r := bare(append([]byte{x.want.Version, kind}, x.b...))
		r.tracing = true
		p := r.part("shared message", 0, int64(2+len(x.b)))
		require.Equal(t, x.want, p.sharedRef())
		require.NoError(t, p.done())
		all = append(all, r.fields...)
	}
	return all
}

// craftedSections returns free-space managers of heaps with a section of a type that is never
// stored.
func craftedSections(t testing.TB) (all []format.Field) {
	le := binary.LittleEndian
	sum := func(b []byte) []byte { return le.AppendUint32(b, Lookup3(b)) }
	for kind := byte(2); kind < 5; kind++ {
		list := sum(append(le.AppendUint64([]byte("FSSE\x00"), 0), 1, 16, 0, kind))
		b := []byte("FSHD\x00\x00")
		// Bytes, sections, stored sections, sections not stored.
		for _, n := range []uint64{16, 1, 1, 0} {
			b = le.AppendUint64(b, n)
		}
		b = append(b, 4, 0, 80, 0, 120, 0, 8, 0)
		for _, n := range []uint64{255, 128, uint64(len(list)), uint64(len(list))} {
			b = le.AppendUint64(b, n)
		}
		b = append(sum(b), make([]byte, 128)...)
		r := bare(append(append(b[:128:128], list...), make([]byte, 64)...))
		r.tracing = true
		r.freeSpace(0, heapClient, &FractalHeap{}, func(FreeSection) { t.Error("a section that is refused") })
		require.ErrorIs(t, r.first, format.ErrCorrupt)
		require.ErrorContains(t, r.first, "below 2")
		if kind < 4 {
			all = append(all, r.fields...)
		}
	}
	return all
}
