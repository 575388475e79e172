// Virtual datasets: their sources and the serialized selections (File Format, III.E and VIII.A).

package h5file

import (
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Mapping is one source of a virtual dataset.
type Mapping struct {
	Version uint8  // of the list in the heap: 0, or 1 of HDF5 2.0
	File    string // "." is the same file
	Dataset string
	Source  Selection // in the source
	Virtual Selection // in the virtual dataset
}

// SelectionKind is the kind of a selection.
type SelectionKind uint32

// Kinds of selections (H5S_sel_type).
const (
	SelectNone SelectionKind = iota
	SelectPoints
	SelectHyperslab
	SelectAll
)

// Selection is a subset of the elements of a dataspace.
type Selection struct {
	Kind    SelectionKind
	Version uint32 // of the serialized form
	Rank    int
	// A regular hyperslab. A dimension with Unlimited in Count or Block grows with the dataset.
	Start, Stride, Count, Block []uint64
	Blocks                      []Box      // the blocks of an irregular hyperslab
	Points                      [][]uint64 // coordinates
}

// Box is a block of elements, both corners included.
type Box struct{ Start, End []uint64 }

// Elements returns the number of selected elements in a dataspace of this shape. known is false for
// a selection that grows with the dataspace.
func (s *Selection) Elements(dims []uint64) (n uint64, known bool) {
	product := func(x []uint64) (n uint64) {
		n = 1
		for _, k := range x {
			n *= k
		}
		return n
	}
	switch s.Kind {
	case SelectNone:
		return 0, true
	case SelectAll:
		return product(dims), true
	case SelectPoints:
		return uint64(len(s.Points)), true
	}
	if slices.Contains(s.Count, Unlimited) || slices.Contains(s.Block, Unlimited) {
		return 0, false
	}
	if len(s.Blocks) == 0 {
		return product(s.Count) * product(s.Block), true
	}
	for _, b := range s.Blocks {
		size := uint64(1)
		for d := range b.Start {
			size *= b.End[d] - b.Start[d] + 1
		}
		n += size
	}
	return n, true
}

// Check returns an error if the source, a dataset of shape source, has another number of elements
// than the part of the virtual dataset that it provides. libhdf5 cannot read such a dataset.
func (m *Mapping) Check(source, virtual []uint64) error {
	from, known := m.Source.Elements(source)
	to, both := m.Virtual.Elements(virtual)
	if !known || !both || from == to {
		return nil
	}
	return &format.Error{Format: formatName, What: "virtual dataset mapping", Got: fmt.Sprintf("%d elements of the source", from), Want: fmt.Sprintf("%d, as many as in the virtual dataset", to), Err: format.ErrCorrupt}
}

// Mappings returns the sources of a virtual dataset. It returns nil for other objects.
func (o *Object) Mappings() ([]Mapping, error) {
	r := o.f.reader()
	l := o.Layout()
	if l == nil || l.Class != Virtual {
		return nil, nil
	}
	return r.mappings(l)
}

// mappings reads the object in the global heap that lists the sources.
func (r *reader) mappings(l *Layout) ([]Mapping, error) {
	if !l.Heap.Defined() {
		return nil, nil
	}
	obj, err := r.globalObject(l.Heap, l.HeapIndex)
	if err != nil {
		return nil, err
	}
	p := &part{r: r, what: "virtual dataset mappings", b: obj.Data, at: obj.At}
	if r.tracing {
		p.describe()
	}
	v := p.u8("version")
	if !p.version(v, 0, 1) {
		return nil, p.done()
	}
	n := p.length("number of entries")
	// An entry has two selections of at least 12 bytes, and two strings or flags.
	p.check(n <= uint64(len(p.b)/25), n, fmt.Sprintf("at most %d", len(p.b)/25))
	var all []Mapping
	for i := 0; uint64(i) < n && p.ok() && p.err == nil; i++ {
		end := p.group("entry", i)
		m := Mapping{Version: v}
		if v == 0 {
			m.File, m.Dataset = p.cstring("source filename", 1), p.cstring("source dataset", 1)
		} else {
			p.sharedNames(&m, all)
		}
		m.Source = p.selection("source selection")
		m.Virtual = p.selection("virtual selection")
		end()
		all = append(all, m)
	}
	p.checksum()
	if p.ok() {
		p.check(p.rest() == 0, fmt.Sprintf("%d bytes after the end", p.rest()), "none")
	}
	return all, p.done()
}

// Flags of a mapping in version 1, of HDF5 2.0.
const (
	sharedFile    = 1 // the file name is that of an earlier entry
	sharedDataset = 2 // the dataset name is that of an earlier entry
	sameFile      = 4 // the same file; no file name is stored
)

// sharedNames reads the names of a mapping, which may be those of earlier entries.
func (p *part) sharedNames(m *Mapping, before []Mapping) {
	flags := p.u8("flags")
	p.flags(flags, sharedFile|sharedDataset|sameFile)
	entry := func(name string) Mapping {
		i := p.length(name)
		if !p.check(i < uint64(len(before)), i, "an entry before this one") {
			return Mapping{}
		}
		return before[i]
	}
	switch {
	case flags&sameFile != 0:
		m.File = "."
	case flags&sharedFile != 0:
		m.File = entry("entry with the source filename").File
	default:
		m.File = p.cstring("source filename", 1)
	}
	if flags&sharedDataset != 0 {
		m.Dataset = entry("entry with the source dataset").Dataset
	} else {
		m.Dataset = p.cstring("source dataset", 1)
	}
}

// selection reads a serialized selection (H5S_select_deserialize).
func (p *part) selection(name string) Selection {
	defer p.group(name, -1)()
	s := Selection{Kind: SelectionKind(p.u32("selection type"))}
	switch s.Kind {
	case SelectNone, SelectAll:
		s.Version = p.u32("version")
		p.check(s.Version == 1, s.Version, "1")
		p.reserved(8)
	case SelectPoints:
		p.points(&s)
	case SelectHyperslab:
		p.hyperslab(&s)
	default:
		p.bad(fmt.Sprint(uint32(s.Kind)), "0 to 3")
		p.ended = true
	}
	return s
}

// encoding reads the size of coordinates: 2, 4 or 8 bytes.
func (p *part) encoding() int {
	n := p.u8("encode size")
	if !p.check(n == 2 || n == 4 || n == 8, n, "2, 4 or 8") {
		p.ended = true
		return 8
	}
	return int(n)
}

func (p *part) rank(s *Selection) bool {
	s.Rank = int(p.u32("rank"))
	if !p.check(s.Rank >= 1 && s.Rank <= MaxRank, s.Rank, "1 to 32") {
		p.ended = true
	}
	return p.ok()
}

func (p *part) points(s *Selection) {
	s.Version = p.u32("version")
	size := 4
	switch s.Version {
	case 1:
		p.reserved(8)
	case 2:
		size = p.encoding()
	default:
		p.bad(fmt.Sprint(s.Version), "1 or 2")
		p.ended = true
	}
	if !p.rank(s) {
		return
	}
	n := p.uint("number of points", size)
	if !p.check(n <= uint64(p.rest()/(size*s.Rank)), n, fmt.Sprintf("at most %d", p.rest()/(size*s.Rank))) {
		p.ended = true
		return
	}
	for range n {
		s.Points = append(s.Points, p.coordinates("point", s.Rank, size))
	}
}

func (p *part) coordinates(name string, rank, size int) []uint64 {
	c := make([]uint64, rank)
	for i := range c {
		c[i] = p.uint(name, size)
	}
	return c
}

func (p *part) hyperslab(s *Selection) {
	s.Version = p.u32("version")
	v := s.Version
	size, regular := 4, false
	switch v {
	case 1:
		p.reserved(8)
	case 2, 3:
		flags := p.u8("flags")
		p.flags(flags, 1)
		regular = flags&1 != 0
		size = 8
		if v == 3 {
			size = p.encoding()
		} else {
			p.reserved(4)
		}
	default:
		p.bad(fmt.Sprint(v), "1 to 3")
		p.ended = true
	}
	if !p.rank(s) {
		return
	}
	if regular {
		p.regular(s, size)
		return
	}
	n := p.uint("number of blocks", size)
	if !p.check(n <= uint64(p.rest()/(2*size*s.Rank)), n, fmt.Sprintf("at most %d", p.rest()/(2*size*s.Rank))) {
		p.ended = true
		return
	}
	for range n {
		b := Box{Start: p.coordinates("block start", s.Rank, size), End: p.coordinates("block end", s.Rank, size)}
		for d := range b.Start {
			p.check(b.Start[d] <= b.End[d], fmt.Sprintf("a block from %d to %d", b.Start[d], b.End[d]), "an end after the start")
		}
		s.Blocks = append(s.Blocks, b)
	}
}

func (p *part) regular(s *Selection, size int) {
	most := Unlimited >> (64 - 8*size)
	for range s.Rank {
		start, stride := p.uint("start", size), p.uint("stride", size)
		count := p.uint("count", size)
		if count == most {
			count = Unlimited
			p.mean("unlimited")
		}
		block := p.uint("block", size)
		if block == most {
			block = Unlimited
			p.mean("unlimited")
		}
		p.check(stride >= block || count <= 1 || block == Unlimited, fmt.Sprintf("blocks of %d every %d", block, stride), "blocks that do not overlap")
		s.Start, s.Stride = append(s.Start, start), append(s.Stride, stride)
		s.Count, s.Block = append(s.Count, count), append(s.Block, block)
	}
}
