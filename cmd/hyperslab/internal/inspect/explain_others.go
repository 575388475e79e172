// explain of HDF5 files with parts in other files.

package inspect

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/remote"
)

// openMembers replaces the file by all members of a set if it is the first one.
func (e *explained) openMembers(file *os.File, path string) error {
	all, err := h5parts.OpenFile(file, path)
	if err != nil {
		return err
	}
	if e.file = all; len(all.Members()) > 1 {
		e.members = all.Members()
	}
	e.size, err = all.Size()
	return err
}

// addMembers adds the members of a set to the fields of a file. They have no bytes, because their
// structures are fields of the whole.
func (e *explained) addMembers(root *format.Field) {
	for i := range e.members {
		m := &e.members[i]
		f := format.Field{Name: "member file", Offset: m.At, Value: m.Path,
			Meaning: fmt.Sprintf("%d bytes, addresses from %d", m.Have, m.Start)}
		if err := m.Err(); err != nil {
			f.Meaning, f.Complaint = "", filepath.Base(m.Path)+": "+err.Error()
		}
		root.Fields = append(root.Fields, f)
	}
}

// others describes the external files of a dataset and the sources of a virtual dataset. The fields
// have no bytes.
func (e *explained) others(o *h5file.Object) (fields []format.Field) {
	local := !remote.IsURL(e.name)
	if list := o.ExternalFiles(); list != nil {
		for _, x := range list.Files {
			f := format.Field{Name: "external file", Value: x.Name, Meaning: "not opened"}
			if local {
				info, err := os.Stat(h5parts.ExternalPath(x.Name))
				if err != nil {
					f.Meaning, f.Complaint = "", err.Error()
				} else {
					f.Meaning = fmt.Sprintf("%d bytes, elements from offset %d", info.Size(), x.Offset)
				}
			}
			fields = append(fields, f)
		}
	}
	maps, err := o.Mappings()
	if err != nil {
		fields = append(fields, format.Field{Name: "virtual sources", Complaint: err.Error()})
	}
	for _, m := range maps {
		f := format.Field{Name: "virtual source", Value: m.File + ":" + m.Dataset, Meaning: "not opened"}
		file, oneFile := h5parts.Literal(m.File)
		dataset, one := h5parts.Literal(m.Dataset)
		if local && oneFile && one {
			path := h5parts.SourcePath(e.name, file)
			x, err := h5parts.FindDataset(path, dataset)
			switch {
			case err != nil:
				f.Meaning, f.Complaint = "", err.Error()
			case x == nil:
				f.Meaning = "through a link"
			default:
				f.Meaning = fmt.Sprintf("object header at %d of %s", x.Addr, path)
			}
		}
		fields = append(fields, f)
	}
	return fields
}
