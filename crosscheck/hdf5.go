// Vectors of HDF5 datasets: layouts, chunk indexes, filters, datatypes, fill values and formats,
// one file per case. Vectors that are not datasets, or not combinations, are in hdf5_single.go.

package crosscheck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

const hdf5Document = "HDF5 File Format Specification 3.0"

var hdf5Parameters = []parameter{
	{Name: "format", Values: []string{"earliest", "v18", "v110", "v114"}},
	{Name: "layout", Values: []string{"compact", "contiguous", "chunked", "one chunk", "one unlimited", "two unlimited", "early"}},
	{Name: "filter", Values: hdf5FilterNames()},
	{Name: "type", Values: hdf5TypeNames()},
	{Name: "shape", Values: []string{"whole", "ragged"}},
	{Name: "written", Values: []string{"all", "some", "none"}},
	{Name: "fill", Values: []string{"default", "value"}},
	{Name: "edges", Values: []string{"filtered", "plain"}},
	{Name: "data", Values: []string{"ramp", "random", "runs"}},
}

// hdf5Formats are the formats by name. The last one is that of HDF5 2, which only hdf5Current uses.
var hdf5Formats = map[string]h5.LibVer{"earliest": h5.Earliest, "v18": h5.V18, "v110": h5.V110, "v114": h5.V114, "v200": h5.LatestFormat}

// hdf5Filter is a filter pipeline. numbers and ints restrict it to numeric or integer elements,
// because some filters depend on the datatype.
type hdf5Filter struct {
	name    string
	steps   []h5.Filter
	numbers bool
	ints    bool
}

var hdf5Filters = []hdf5Filter{
	{name: "none"},
	{name: "shuffle", steps: []h5.Filter{h5.Shuffle()}},
	{name: "deflate", steps: []h5.Filter{h5.Deflate(6)}},
	{name: "fletcher32", steps: []h5.Filter{h5.Fletcher32()}},
	{name: "shuffle+deflate+fletcher32", steps: []h5.Filter{h5.Shuffle(), h5.Deflate(9), h5.Fletcher32()}},
	{name: "fletcher32+deflate", steps: []h5.Filter{h5.Fletcher32(), h5.Deflate(1)}},
	{name: "szip", steps: []h5.Filter{h5.Szip(h5.SzipNearest, 8)}, numbers: true},
	{name: "szip_entropy", steps: []h5.Filter{h5.Szip(h5.SzipEntropy, 4)}, numbers: true},
	{name: "nbit", steps: []h5.Filter{h5.Nbit()}, numbers: true},
	{name: "scaleoffset", steps: []h5.Filter{h5.ScaleOffsetInt(0)}, ints: true},
	{name: "bzip2", steps: []h5.Filter{{ID: filter.IDBZip2, Values: []uint32{9}}}},
	{name: "shuffle+lzf", steps: []h5.Filter{h5.Shuffle(), {ID: filter.IDLZF}}},
	{name: "blosc", steps: []h5.Filter{{ID: filter.IDBlosc, Values: []uint32{0, 0, 0, 0, 5, 1, 1}}}},
	{name: "shuffle+lz4", steps: []h5.Filter{h5.Shuffle(), {ID: filter.IDLZ4}}},
	{name: "bitshuffle_lz4", steps: []h5.Filter{{ID: filter.IDBitShuffle, Values: []uint32{0, 2}}}},
	{name: "zstd", steps: []h5.Filter{{ID: filter.IDZstd, Values: []uint32{3}}}},
	{name: "blosc2", steps: []h5.Filter{{ID: filter.IDBlosc2, Values: []uint32{0, 0, 0, 0, 5, 2, 5}}}},
}

func hdf5FilterNames() []string {
	var names []string
	for _, f := range hdf5Filters {
		names = append(names, f.name)
	}
	return names
}

func hdf5FilterOf(name string) hdf5Filter {
	for _, f := range hdf5Filters {
		if f.name == name {
			return f
		}
	}
	panic("crosscheck: no HDF5 filter " + name)
}

// hdf5Types are the types that are combined with every layout and filter.
var hdf5Types = []struct {
	name string
	dt   h5.Datatype
}{
	{"<i1", h5.Int(1, h5.LittleEndian)},
	{"<u2", h5.Uint(2, h5.LittleEndian)},
	{">i4", h5.Int(4, h5.BigEndian)},
	{"<i8", h5.Int(8, h5.LittleEndian)},
	{"<f4", h5.IEEEFloat(4, h5.LittleEndian)},
	{">f8", h5.IEEEFloat(8, h5.BigEndian)},
	{"bool", h5value.Bool()},
	{"S5", h5.FixedString(5, h5.NullPad, h5.ASCII)},
	{"compound", h5.CompoundOf(
		h5.Member{Name: "a", Type: new(h5.Int(4, h5.LittleEndian))},
		h5.Member{Name: "b", Type: new(h5.IEEEFloat(8, h5.BigEndian))})},
	{"array", h5.ArrayOf(h5.Int(2, h5.LittleEndian), 3)},
}

func hdf5TypeNames() []string {
	var names []string
	for _, t := range hdf5Types {
		names = append(names, t.name)
	}
	return names
}

func hdf5TypeOf(name string) h5.Datatype {
	for _, t := range hdf5Types {
		if t.name == name {
			return t.dt
		}
	}
	panic("crosscheck: no HDF5 type " + name)
}

// hdf5Allowed reports whether the library can make a dataset with these parameters.
func hdf5Allowed(v map[string]string) bool {
	f := hdf5FilterOf(v["filter"])
	chunked := v["layout"] != "compact" && v["layout"] != "contiguous"
	number := hdf5TypeOf(v["type"]).Class == h5.Integer || hdf5TypeOf(v["type"]).Class == h5.Float
	switch {
	case f.name != "none" && !chunked, f.numbers && !number, f.ints && hdf5TypeOf(v["type"]).Class != h5.Integer:
		return false
	case f.name == "scaleoffset" && (v["data"] != "ramp" || v["type"] == "<i1" || v["type"] == ">i4"):
		return false // differences that need all bits: the library does not read back the data it wrote
	case v["layout"] == "early" && f.name != "none":
		return false // such chunks have the same index as others
	case v["layout"] == "one chunk" && v["shape"] == "ragged":
		return false
	case v["edges"] == "plain":
		return f.name != "none" && v["shape"] == "ragged" && (v["format"] == "v110" || v["format"] == "v114")
	}
	return true
}

// hdf5Shape derives the dataspace and the chunk shape.
func hdf5Shape(v map[string]string) (space h5.Dataspace, chunks []int64) {
	space = h5.SimpleSpace(12, 24)
	chunks = []int64{4, 8}
	if v["shape"] == "ragged" {
		space = h5.SimpleSpace(10, 21)
	}
	switch v["layout"] {
	case "compact", "contiguous":
		return space, nil
	case "one chunk":
		return space, space.Dims
	case "one unlimited":
		space.MaxDims = []int64{h5.Unlimited, space.Dims[1]}
	case "two unlimited":
		space.MaxDims = []int64{h5.Unlimited, h5.Unlimited}
	}
	return space, chunks
}

func emitHDF5(ctx context.Context, e *emitter) error {
	version, err := h5.Version()
	if err != nil {
		return err
	}
	e.m.Versions["hdf5"] = version
	rows, pairs, impossible := choose(hdf5Parameters, func(row []int) bool { return hdf5Allowed(values(hdf5Parameters, row)) }, e.full)
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		v := values(hdf5Parameters, row)
		err := e.hdf5Dataset(v, uint64(i))
		if e.full && hdf5Declined(v, err) {
			rows[i] = nil
			continue
		}
		if err != nil {
			return err
		}
	}
	rows = slices.DeleteFunc(rows, func(row []int) bool { return row == nil })
	e.coverage("hdf5", hdf5Parameters, rows, pairs, impossible)
	if err := e.hdf5Single(); err != nil {
		return err
	}
	features, err := hdf5Features(e.dir, e.m.Cases)
	if err != nil {
		return err
	}
	e.m.Coverage[len(e.m.Coverage)-1].Features = features
	return e.brokenHDF5()
}

// hdf5Declined reports whether err means that this dataset cannot be written. LZF declines a chunk
// that it does not make smaller, and the library then does not store the chunk. Only an attempt
// shows whether that happens.
func hdf5Declined(v map[string]string, err error) bool {
	return err != nil && v["filter"] == "shuffle+lzf" && v["written"] != "none" && strings.Contains(err.Error(), "filter returned failure")
}

// hdf5Fill returns a fill value.
func hdf5Fill(dt h5.Datatype) []byte {
	b := make([]byte, dt.Size)
	for i := range b {
		b[i] = byte(0x11 * (i%7 + 1))
	}
	if h5value.IsBool(dt) {
		b[0] = 1
	}
	return b
}

func (e *emitter) hdf5Dataset(v map[string]string, seed uint64) error {
	dt := hdf5TypeOf(v["type"])
	space, chunks := hdf5Shape(v)
	o := &h5.DatasetOptions{Compact: v["layout"] == "compact", ChunkShape: chunks, Filters: hdf5FilterOf(v["filter"]).steps, PlainEdges: v["edges"] == "plain"}
	if v["layout"] == "early" {
		o.Alloc = h5.AllocEarly
	}
	fill := make([]byte, dt.Size)
	if v["fill"] == "value" {
		o.Fill = hdf5Fill(dt)
		fill = o.Fill
	}
	n := int(space.NumElems())
	want := bytes.Repeat(fill, n)
	data := series(v["data"], seed, n*dt.Size, dt.Size)
	if h5value.IsBool(dt) {
		data = ofType(data, "|b1")
	}
	write := space.All()
	switch v["written"] {
	case "some": // only the chunk in the middle
		write = h5.Region{Start: []int64{4, 8}, Count: []int64{4, 8}}
	case "none":
		write = h5.Region{Start: []int64{0, 0}, Count: []int64{0, 0}}
	}
	src := make([]byte, 0, len(data))
	for i := range write.Count[0] {
		at := ((write.Start[0]+i)*space.Dims[1] + write.Start[1]) * int64(dt.Size)
		row := data[at : at+write.Count[1]*int64(dt.Size)]
		src = append(src, row...)
		copy(want[at:], row)
	}
	c := Case{
		ID: fmt.Sprintf("hdf5/%s/%s-%s-%s-%s-%s-fill_%s-edges_%s-%s", v["format"], dashed(v["layout"]), strings.ReplaceAll(v["filter"], "+", "_"), dtypeName(v["type"]),
			v["shape"], v["written"], v["fill"], v["edges"], v["data"]),
		Object: "/d", Params: v, Section: hdf5Document + ": IV.A.2.i Data Layout, IV.A.2.f Fill Value, IV.A.2.l Filter Pipeline, III.A to III.E indexes",
	}
	return e.hdf5File(c, hdf5Formats[v["format"]], nil, want, func(f *h5.File) error {
		d, err := f.Root().CreateDataset("d", dt, space, o)
		if err != nil {
			return err
		}
		if len(src) > 0 {
			err = d.WriteRegion(src, dt, write)
		}
		return errors.Join(err, d.Close())
	})
}

// hdf5File makes a file with low as the lowest format, reads the object back and adds it. Its
// decoded bytes must equal want, unless want is nil.
func (e *emitter) hdf5File(c Case, low h5.LibVer, creation *h5.FileCreation, want []byte, fill func(f *h5.File) error) error {
	c.Area, c.Must, c.Path = "hdf5", Accept, c.ID+".h5"
	path, err := e.place(c.Path)
	if err != nil {
		return err
	}
	if err := makeHDF5(path, low, creation, false, fill); err != nil {
		return fmt.Errorf("%s: %w", c.ID, errors.Join(err, os.Remove(path)))
	}
	return e.hdf5Case(c, want)
}

// unlocked disables file locking. Vectors have no other writers, and a process that another
// goroutine is just starting would keep the lock after the file is closed.
func unlocked() *h5.FileAccess {
	a := h5.DefaultFileAccess()
	a.Locking = h5.LockNever
	return &a
}

func openHDF5File(path string) (*h5.File, error) {
	o := h5.OpenOptions{}
	o.Mode, o.Access = h5.ReadOnly, unlocked()
	return h5.OpenWith(path, &o)
}

// makeHDF5 makes a file, and clears the times in it unless times is set.
func makeHDF5(path string, low h5.LibVer, creation *h5.FileCreation, times bool, fill func(f *h5.File) error) error {
	high := h5.V114
	if low == h5.LatestFormat {
		high = h5.LatestFormat
	}
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: high, Access: unlocked(), Creation: creation})
	if err != nil {
		return err
	}
	if err := errors.Join(fill(f), f.Close()); err != nil || times {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if clearTimes(b) == 0 {
		return nil
	}
	return os.WriteFile(path, b, 0o644)
}

// clearTimes zeroes the times in object headers of version 2 and returns the number of such
// headers. It is needed because libhdf5 always stores times in the extension of the superblock, and
// package h5 has no option to omit them in committed datatypes.
func clearTimes(b []byte) int {
	found := 0
	for at := 0; ; at += 4 {
		next := bytes.Index(b[at:], []byte("OHDR\x02"))
		if next < 0 {
			return found
		}
		at += next
		flags := b[min(at+5, len(b)-1)]
		head := 6 + 16
		if flags&0x10 != 0 { // thresholds of attribute storage
			head += 4
		}
		width := 1 << (flags & 3)
		if flags&0x20 == 0 || at+head+width > len(b) {
			continue
		}
		var size uint64
		for i := range width {
			size |= uint64(b[at+head+i]) << (8 * i)
		}
		if size > uint64(len(b)-at-head-width) || len(b)-at-head-width-int(size) < 4 {
			continue
		}
		end := at + head + width + int(size)
		if binary.LittleEndian.Uint32(b[end:]) != h5file.Lookup3(b[at:end]) {
			continue // not an object header
		}
		clear(b[at+6 : at+22])
		binary.LittleEndian.PutUint32(b[end:], h5file.Lookup3(b[at:end]))
		found++
	}
}

// hdf5Case adds one object of a file that has been written.
func (e *emitter) hdf5Case(c Case, want []byte) error {
	c.Area, c.Must = "hdf5", Accept
	x, err := decodeHDF5(filepath.Join(e.dir, filepath.FromSlash(c.Path)), c.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", c.ID, err)
	}
	if want != nil && !bytes.Equal(want, x.data) {
		return fmt.Errorf("%s: the reference does not decode the original bytes", c.ID)
	}
	c.Decoded = &Decoded{Bytes: int64(len(x.data)), SHA256: hexSum(x.data), DType: x.dtype, Shape: append([]int64{}, x.shape...), Item: x.item}
	c.Metadata = x.metadata
	return e.add(c)
}

// hdf5Layout describes the storage of a dataset, as metadata of a case.
func hdf5Layout(i *h5.DatasetInfo) map[string]any {
	m := map[string]any{"datatype": i.Datatype.String(), "dataspace": i.Space.String(), "layout": i.Layout.String()}
	if i.Layout == h5.Chunked {
		m["chunks"], m["index"] = slices.Clone(i.ChunkShape), i.Index.String()
	}
	if len(i.Filters) > 0 {
		ids := make([]int, len(i.Filters))
		for k, f := range i.Filters {
			ids[k] = f.ID
		}
		m["filters"] = ids
	}
	if i.FillKind == h5.FillValue && i.Fill != nil {
		m["fill"] = fmt.Sprintf("%x", i.Fill)
	}
	return m
}
