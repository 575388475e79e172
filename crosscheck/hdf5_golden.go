// HDF5 vectors that cannot be written twice with the same bytes: files with times, and references
// of HDF5 1.12, because libhdf5 leaves bytes of their elements uninitialized. They were written
// once and are embedded. golden/MANIFEST.md lists the programs that wrote them.

package crosscheck

import (
	"embed"
	"errors"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

//go:embed golden/*.h5 golden/*.b2frame golden/*.chunk golden/*.b2z golden/*.b2e
var golden embed.FS

// goldenVector is one file of the directory golden, and its objects.
type goldenVector struct {
	name, section string
	objects       []string
	low           h5.LibVer
	fill          func(f *h5.File) error // writes a file with the same content
}

var goldenVectors = []goldenVector{
	{"times-earliest", "IV.A.2.s Object Modification Time", []string{"/d"}, h5.Earliest, writeTimes},
	{"times-v18", "IV.A.1.b object header, access, modification, change and birth time", []string{"/d", "/g"}, h5.V18, writeTimes},
	{"times-v114", "IV.A.1.b object header, access, modification, change and birth time", []string{"/d", "/g"}, h5.V114, writeTimes},
	{"references-v114", "IV.A.2.d Datatype, class 7, types 2 to 4; VIII.D References", []string{"/r"}, h5.V114, writeStandardReferences},
}

// hdf5Golden adds the golden vectors.
func (e *emitter) hdf5Golden() error {
	for _, v := range goldenVectors {
		b, err := golden.ReadFile("golden/" + v.name + ".h5")
		if err != nil {
			return err
		}
		id := "hdf5/golden/" + v.name
		path, err := e.place(id + ".h5")
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		for _, object := range v.objects {
			c := Case{ID: id + strings.ReplaceAll(object, "/", "-"), Path: id + ".h5", Object: object, Section: hdf5Document + ": " + v.section, Params: map[string]string{"golden": v.name}}
			if err := e.hdf5Case(c, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeTimes makes a dataset and a group with times.
func writeTimes(f *h5.File) error {
	g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{Times: true})
	if err == nil {
		err = g.Close()
	}
	if err != nil {
		return err
	}
	i4 := h5.Int(4, h5.LittleEndian)
	return writeDataset(f, "d", i4, h5.SimpleSpace(3), &h5.DatasetOptions{Times: true}, plainBytes(i4, 3))
}

// writeStandardReferences makes a dataset of references to an object, to regions and to an
// attribute, and a null reference.
func writeStandardReferences(f *h5.File) error {
	i1 := h5.Int(1, h5.LittleEndian)
	if err := writeDataset(f, "d", i1, h5.SimpleSpace(4, 6), nil, plainBytes(i1, 24)); err != nil {
		return err
	}
	root := f.Root()
	o, err := root.OpenDataset("d")
	if err != nil {
		return err
	}
	err = o.WriteAttribute(h5.Attribute{Name: "unit", Datatype: i1, Space: h5.ScalarSpace(), Data: []byte{1}})
	if err := errors.Join(err, o.Close()); err != nil {
		return err
	}
	refs := make([]h5.Ref, 5) // the last is null
	refs[4].Kind = h5.StandardReference
	if refs[0], err = root.Reference("d", h5.StandardReference); err != nil {
		return err
	}
	if refs[1], err = root.ReferenceRegion("d", h5.StandardReference, h5.Region{Start: []int64{1, 2}, Count: []int64{2, 3}}); err != nil {
		return err
	}
	if refs[2], err = root.ReferenceRegion("d", h5.StandardReference, h5.Points{{0, 1}, {3, 5}}); err != nil {
		return err
	}
	if refs[3], err = root.ReferenceAttribute("d", "unit"); err != nil {
		return err
	}
	d, err := root.CreateDataset("r", h5.ReferenceType(h5.StandardReference), h5.SimpleSpace(5), nil)
	if err != nil {
		return err
	}
	return errors.Join(typed(refs)(d), d.Close())
}
