package h5_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/h5"
)

// A dataset is written and read in parts; what is stored big-endian reads as the
// right numbers.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	level := 6
	d, err := f.Root().CreateDataset("measured/height", h5.Int(2, h5.BigEndian), h5.SimpleSpace(2, 3),
		&h5.DatasetOptions{Chunks: []int64{2, 2}, Deflate: &level})
	if err != nil {
		log.Fatal(err)
	}
	whole := h5.Region{Start: []int64{0, 0}, Count: []int64{2, 3}}
	if err := h5.Write(d, []int16{1, 2, 3, 4, 5, 6}, whole); err != nil {
		log.Fatal(err)
	}
	column := make([]float64, 2)
	if err := h5.Read(d, column, h5.Region{Start: []int64{0, 1}, Count: []int64{2, 1}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Path(), column)
	// Output: /measured/height [2 5]
}

func ExampleGroup_Links() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	root := f.Root()
	if _, err := root.CreateGroup("raw/2026"); err != nil {
		log.Fatal(err)
	}
	if err := root.LinkSoft("latest", "/raw/2026"); err != nil {
		log.Fatal(err)
	}
	for l, err := range root.Links() {
		if err != nil {
			log.Fatal(err)
		}
		kind, err := root.Kind(l.Name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %v link to a %v %s\n", l.Name, l.Kind, kind, l.Target)
	}
	// Output:
	// latest: soft link to a group /raw/2026
	// raw: hard link to a group
}

func ExampleGroup_attributes() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	root := f.Root()
	err = root.WriteAttribute(h5.Attribute{
		Name: "units", Datatype: h5.VariableString(h5.UTF8), Space: h5.ScalarSpace(), Strings: []string{"µm"},
	})
	if err != nil {
		log.Fatal(err)
	}
	units, err := root.ReadAttribute("units")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(units.Strings[0], units.Space)
	_, err = root.ReadAttribute("scale")
	fmt.Println(err)
	// Output:
	// µm SCALAR
	// h5: read attribute /@scale: can't locate attribute: 'scale' (H5O__attr_open_by_name)
}
