// info of HDF5 datasets: layout, chunk index, filters with their parameters, other files, and the
// versions of HDF5 that read the format.

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// hdf5Doc describes the storage of an HDF5 dataset.
type hdf5Doc struct {
	Layout   string        `json:"layout"`
	Index    *string       `json:"chunk_index"`
	Filters  []filterDoc   `json:"filters"`
	External []externalDoc `json:"external_files"`
	Mappings []mappingDoc  `json:"virtual_mappings"`
	Since    string        `json:"readable_since"`
}

// filterDoc is a filter of a dataset.
type filterDoc struct {
	ID         int      `json:"id"`
	Name       string   `json:"name"`
	Parameters []uint32 `json:"parameters"`
	Optional   bool     `json:"optional"`
}

// externalDoc is a range of a file with elements. Bytes is null for all bytes to the end.
type externalDoc struct {
	File   string   `json:"file"`
	Offset jsonInt  `json:"offset"`
	Bytes  *jsonInt `json:"bytes"`
}

// mappingDoc maps a part of a virtual dataset to a part of a source.
type mappingDoc struct {
	Selection       string `json:"selection"`
	File            string `json:"file"`
	Dataset         string `json:"dataset"`
	SourceSelection string `json:"source_selection"`
}

// withDataset calls f with the HDF5 dataset at an address, whose selection is ignored.
func (a *app) withDataset(address string, f func(file *h5.File, d *h5.Dataset) error) (err error) {
	location, _ := splitSelection(address)
	loc, err := hyperslab.ParseLocation(location)
	if err != nil {
		return err
	}
	file, err := a.openHDF5(loc.File)
	if err != nil {
		return hdf5.Translate(err)
	}
	defer func() { err = errors.Join(err, hdf5.Translate(file.Close())) }()
	d, err := file.Root().OpenDataset("/" + strings.Trim(loc.Object, "/"))
	if err != nil {
		return hdf5.Translate(err)
	}
	defer func() { err = errors.Join(err, hdf5.Translate(d.Close())) }()
	return hdf5.Translate(f(file, d))
}

// hdf5Of returns the storage of the HDF5 dataset at an address, or nil for an array of another
// format. It does not open untrusted files again.
func (a *app) hdf5Of(address, format string) (doc *hdf5Doc, err error) {
	if format != string(hyperslab.HDF5) || a.untrusted() {
		return nil, nil
	}
	err = a.withDataset(address, func(file *h5.File, d *h5.Dataset) error {
		info, err := d.Info()
		if err != nil {
			return err
		}
		facts, err := file.Facts()
		if err != nil {
			return err
		}
		doc = newHDF5Doc(&info, facts.Superblock)
		return nil
	})
	return doc, err
}

func newHDF5Doc(info *h5.DatasetInfo, superblock int) *hdf5Doc {
	doc := &hdf5Doc{
		Layout: info.Layout.String(), Filters: []filterDoc{}, External: []externalDoc{}, Mappings: []mappingDoc{},
		Since: readableSince(info, superblock),
	}
	if info.Layout == h5.Chunked {
		index := info.Index.String()
		doc.Index = &index
	}
	for _, f := range info.Filters {
		doc.Filters = append(doc.Filters, filterDoc{f.ID, f.Name, append([]uint32{}, f.Values...), f.Optional})
	}
	for _, x := range info.External {
		e := externalDoc{File: x.Name, Offset: jsonInt(x.Offset)}
		if x.Size != h5.Unlimited {
			size := jsonInt(x.Size)
			e.Bytes = &size
		}
		doc.External = append(doc.External, e)
	}
	for _, m := range info.Mappings {
		doc.Mappings = append(doc.Mappings, mappingDoc{regionText(m.Region), m.File, m.Dataset, regionText(m.SourceRegion)})
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

// readableSince returns the oldest version of HDF5 that reads the superblock, the layout and the
// element type. Filters of plug-ins do not count.
func readableSince(info *h5.DatasetInfo, superblock int) string {
	since := []string{"1.4", "1.8", "1.10", "1.12", "2.0"}
	need := 0
	atLeast := func(version string, when bool) {
		if when {
			need = max(need, slices.Index(since, version))
		}
	}
	atLeast("1.8", superblock == 2)
	atLeast("1.10", superblock >= 3)
	atLeast("1.10", info.Layout == h5.Virtual || info.Layout == h5.Chunked && info.Index != h5.BTree1)
	atLeast("2.0", hasClass(info.Datatype, h5.Complex))
	return since[need]
}

// hasClass reports whether a datatype or a part of it is of a class.
func hasClass(t h5.Datatype, class h5.Class) bool {
	return t.Class == class || t.Base != nil && hasClass(*t.Base, class) ||
		slices.ContainsFunc(t.Members, func(m h5.Member) bool { return m.Type != nil && hasClass(*m.Type, class) })
}

// rows adds the lines of info.
func (d *hdf5Doc) rows(row func(key, value string)) {
	layout := d.Layout
	if d.Index != nil {
		layout += ", " + *d.Index
	}
	row("layout", layout)
	for _, f := range d.Filters {
		text := fmt.Sprintf("%d %s", f.ID, safe(f.Name))
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
		row("external file", fmt.Sprintf("%s at %d, %s", safe(x.File), int64(x.Offset), size))
	}
	for _, m := range d.Mappings {
		row("virtual", fmt.Sprintf("%s = %s:%s%s", m.Selection, safe(m.File), safe(m.Dataset), m.SourceSelection))
	}
	row("readable since", "HDF5 "+d.Since)
}
