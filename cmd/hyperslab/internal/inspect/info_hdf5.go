// info of HDF5 datasets: layout, chunk index, filters with their parameters, other files, and the
// versions of HDF5 that read the format.

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// HDF5Doc describes the storage of an HDF5 dataset.
type HDF5Doc struct {
	Layout   string        `json:"layout"`
	Index    *string       `json:"chunk_index"`
	Filters  []FilterDoc   `json:"filters"`
	External []ExternalDoc `json:"external_files"`
	Mappings []MappingDoc  `json:"virtual_mappings"`
	Since    *string       `json:"readable_since"`
}

// FilterDoc is a filter of a dataset.
type FilterDoc struct {
	ID         int      `json:"id"`
	Name       string   `json:"name"`
	Parameters []uint32 `json:"parameters"`
	Optional   bool     `json:"optional"`
}

// ExternalDoc is a range of a file with elements. Bytes is null for all bytes to the end.
type ExternalDoc struct {
	File   string         `json:"file"`
	Offset shell.JSONInt  `json:"offset"`
	Bytes  *shell.JSONInt `json:"bytes"`
}

// MappingDoc maps a part of a virtual dataset to a part of a source.
type MappingDoc struct {
	Selection       string `json:"selection"`
	File            string `json:"file"`
	Dataset         string `json:"dataset"`
	SourceSelection string `json:"source_selection"`
}

// WithDataset calls f with the HDF5 dataset at an address, whose selection is ignored.
func WithDataset(ctx context.Context, a *shell.App, address string, f func(file *h5.File, d *h5.Dataset) error) (err error) {
	location, _ := shell.SplitSelection(address)
	loc, err := locate.Parse(location)
	if err != nil {
		return err
	}
	file, err := a.OpenHDF5(ctx, loc.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	d, err := file.Root().OpenDataset("/" + strings.Trim(loc.Object, "/"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return f(file, d)
}

// hdf5Of returns the storage of an HDF5 dataset in the file called name. It returns nil for an
// array of another format, and of an untrusted file, which is open in a worker.
func hdf5Of(arr *ndarray.Array, name string) (*HDF5Doc, error) {
	b, ok := ndarray.As[hdf5.Backend](arr.Backend())
	if !ok {
		return nil, nil
	}
	info, err := b.Dataset().Info()
	if err != nil {
		return nil, err
	}
	doc := newHDF5Doc(&info)
	doc.Since, err = readableSince(b.Dataset(), name)
	return doc, err
}

func newHDF5Doc(info *h5.DatasetInfo) *HDF5Doc {
	doc := &HDF5Doc{
		Layout: info.Layout.String(), Filters: []FilterDoc{}, External: []ExternalDoc{}, Mappings: []MappingDoc{},
	}
	if info.Layout == h5.Chunked {
		index := info.Index.String()
		doc.Index = &index
	}
	for _, f := range info.Filters {
		doc.Filters = append(doc.Filters, FilterDoc{f.ID, f.Name, append([]uint32{}, f.Values...), f.Optional})
	}
	for _, x := range info.External {
		e := ExternalDoc{File: x.Name, Offset: shell.JSONInt(x.Offset)}
		if x.Size != h5.Unlimited {
			size := shell.JSONInt(x.Size)
			e.Bytes = &size
		}
		doc.External = append(doc.External, e)
	}
	for _, m := range info.Mappings {
		doc.Mappings = append(doc.Mappings, MappingDoc{regionText(m.Region), m.File, m.Dataset, regionText(m.SourceRegion)})
	}
	return doc
}

// regionText formats a region as a selection, for example "[0, 0:10:2]".
func regionText(r h5.Region) string {
	if len(r.Start) == 0 {
		return "[...]" // all elements
	}
	parts := make([]string, len(r.Start))
	at := func(list []int64, axis int) int64 {
		if axis < len(list) {
			return list[axis]
		}
		return 1
	}
	for axis, start := range r.Start {
		count, stride, block := at(r.Count, axis), at(r.Stride, axis), at(r.Block, axis)
		switch {
		case count == h5.Unlimited && stride == block:
			parts[axis] = fmt.Sprintf("%d:", start)
		case count == h5.Unlimited:
			parts[axis] = fmt.Sprintf("%d::%d", start, stride)
		case count == 1 || stride == block:
			parts[axis] = fmt.Sprintf("%d:%d", start, start+count*block)
		default:
			parts[axis] = fmt.Sprintf("%d:%d:%d", start, start+(count-1)*stride+block, stride)
		}
		if block > 1 && stride != block && count != 1 {
			parts[axis] += fmt.Sprintf(" (blocks of %d)", block)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// readableSince returns the oldest version of HDF5 that reads a dataset of the file called name,
// its attributes, and the groups of its path. Filters are not considered. It returns nil if the
// path leads to another file, or if a structure cannot be read in Go.
func readableSince(d *h5.Dataset, name string) (since *string, err error) {
	file := d.File()
	root, err := file.Root().Stat()
	if err != nil {
		return nil, err
	}
	addresses, here := []uint64{root.Address}, file.Root()
	parts := strings.Split(strings.Trim(d.Path(), "/"), "/")
	for i := range parts {
		info, err := here.ObjectInfo(strings.Join(parts[:i+1], "/"))
		if err != nil || info.FileNo != root.FileNo {
			return nil, err
		}
		addresses = append(addresses, info.Address)
	}
	r, size := file.Source()
	if raw, rerr := file.Descriptor(); r == nil && rerr == nil {
		stat, err := raw.Stat()
		if err != nil {
			return nil, err
		}
		r, size = raw, stat.Size()
	} else if r == nil { // a set of files
		parts, perr := h5parts.Open(name)
		if perr != nil {
			return nil, perr
		}
		defer func() { err = errors.Join(err, parts.Close()) }()
		if size, err = parts.Size(); err != nil {
			return nil, err
		}
		r = parts
	}
	plain, err := h5file.Open(r, size, nil)
	if err != nil {
		return nil, err
	}
	objects := make([]*h5file.Object, len(addresses))
	for i, at := range addresses {
		if objects[i], err = plain.Object(h5file.Addr(at)); err != nil {
			return nil, nil
		}
	}
	if oldest, err := plain.Since(objects...); err == nil {
		since = &oldest
	}
	return since, nil
}

// rows adds the lines of info.
func (d *HDF5Doc) rows(row func(key, value string)) {
	layout := d.Layout
	if d.Index != nil {
		layout += ", " + *d.Index
	}
	row("layout", layout)
	for _, f := range d.Filters {
		text := fmt.Sprintf("%d %s", f.ID, term.Safe(f.Name))
		if len(f.Parameters) > 0 {
			text += fmt.Sprintf(" %v", f.Parameters)
		}
		if f.Optional {
			text += ", optional"
		}
		row("filter", text)
	}
	for _, x := range d.External {
		size := "to the end"
		if x.Bytes != nil {
			size = fmt.Sprintf("%d bytes", int64(*x.Bytes))
		}
		row("external file", fmt.Sprintf("%s at %d, %s", term.Safe(x.File), int64(x.Offset), size))
	}
	for _, m := range d.Mappings {
		row("virtual", fmt.Sprintf("%s = %s:%s%s", m.Selection, term.Safe(m.File), term.Safe(m.Dataset), m.SourceSelection))
	}
	if d.Since != nil {
		row("readable since", "HDF5 "+*d.Since)
	}
}
