// Filter pipelines, versions 1 and 2 (File Format, IV.A.2.l).

package h5file

import (
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// FilterID is the registered number of a filter.
type FilterID uint16

// Filters that libhdf5 contains.
const (
	Deflate     FilterID = 1
	Shuffle     FilterID = 2
	Fletcher32  FilterID = 3
	SZip        FilterID = 4
	NBit        FilterID = 5
	ScaleOffset FilterID = 6
)

var filterNames = map[FilterID]string{
	Deflate: "deflate", Shuffle: "shuffle", Fletcher32: "fletcher32", SZip: "szip", NBit: "nbit", ScaleOffset: "scaleoffset",
	307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32015: "zstd", 32026: "blosc2",
}

// String returns the name of a common filter, or "filter N".
func (id FilterID) String() string {
	if s := filterNames[id]; s != "" {
		return s
	}
	return fmt.Sprintf("filter %d", uint16(id))
}

// MaxFilters is the maximum number of filters of a pipeline.
const MaxFilters = 32

// Pipeline is the list of filters of chunks, in the order of writing.
type Pipeline struct {
	Version uint8
	Filters []Filter
}

// Filter is one filter of a pipeline.
type Filter struct {
	ID       FilterID
	Name     string // as stored; often empty
	Optional bool   // chunks may be stored without the filter if it is not available or fails
	Values   []uint32
	ValuesAt int64 // bytes from the start of the file to Values; -1 if they are in a filtered heap
}

// String returns the names of the filters.
func (p *Pipeline) String() string {
	var s []string
	for _, f := range p.Filters {
		s = append(s, f.ID.String())
	}
	return strings.Join(s, ", ")
}

func (p *part) pipeline() *Pipeline {
	l := &Pipeline{Version: p.u8("version")}
	if !p.version(l.Version, 1, 2) {
		return l
	}
	n := int(p.u8("number of filters"))
	p.check(n <= MaxFilters, n, "at most 32")
	if l.Version == 1 {
		p.reserved(6)
	}
	for i := 0; i < n && p.ok(); i++ {
		end := p.group("filter", i)
		l.Filters = append(l.Filters, p.filter(l.Version))
		end()
	}
	return l
}

func (p *part) filter(version uint8) Filter {
	f := Filter{ID: FilterID(p.u16("filter identification value"))}
	p.mean("%s", f.ID)
	nameLen := 0
	if version == 1 || f.ID >= 256 {
		nameLen = int(p.u16("name length"))
		if version == 1 {
			p.check(nameLen%8 == 0, nameLen, "a multiple of 8")
		}
	}
	flags := p.u16("flags")
	p.hex()
	f.Optional = flags&1 != 0
	n := int(p.u16("number of client data values"))
	if nameLen > 0 {
		b := p.text("name", nameLen)
		f.Name = zeroTerminated([]byte(b))
		if p.ok() && len(f.Name) == len(b) {
			// libhdf5 searches for the zero up to the end of the message.
			p.badAs(format.ErrCorrupt, "a name without a zero at its end", "one")
		}
	}
	if p.ok() && 4*n > p.rest() {
		p.bad(fmt.Sprintf("%d values", n), fmt.Sprintf("at most %d", p.rest()/4))
		p.ended = true
	}
	f.ValuesAt = p.stored(p.pos)
	if b := p.bytes("client data", 4*n); p.ok() {
		for i := range n {
			f.Values = append(f.Values, le32(b[4*i:]))
		}
		if p.last != nil {
			p.last.Value = fmt.Sprint(f.Values)
		}
	}
	if version == 1 && n%2 == 1 {
		p.reserved(4)
	}
	return f
}
