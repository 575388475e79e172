package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// A dataset is written and read in parts. Big-endian elements are converted to numbers of the
// machine.
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
		&h5.DatasetOptions{ChunkShape: []int64{2, 2}, Deflate: &level})
	if err != nil {
		log.Fatal(err)
	}
	whole := h5.Region{Start: []int64{0, 0}, Count: []int64{2, 3}}
	if err := h5value.Write(d, []int16{1, 2, 3, 4, 5, 6}, whole); err != nil {
		log.Fatal(err)
	}
	column := make([]float64, 2)
	if err := h5value.Read(d, column, h5.Region{Start: []int64{0, 1}, Count: []int64{2, 1}}); err != nil {
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
	// h5: read attribute /@scale: can't locate attribute: 'scale'
}

// A file can be read from any io.ReaderAt, for example from an archive or an object store.
func ExampleOpenReaderAt() {
	made, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := made.Root().CreateGroup("inside"); err != nil {
		log.Fatal(err)
	}
	image, err := made.Image()
	if err != nil {
		log.Fatal(err)
	}
	if err := made.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := h5.OpenReaderAt(bytes.NewReader(image), int64(len(image)), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for link, err := range f.Root().Links() {
		fmt.Println(link.Name, link.Kind, err)
	}
	// Output: inside hard <nil>
}

// A filter stores the bytes of a chunk in reverse order.
func ExampleRegisterFilter() {
	backwards := func(src []byte, _ []uint32) ([]byte, error) {
		slices.Reverse(src)
		return src, nil
	}
	if err := h5.RegisterFilter(h5.GoFilter{ID: 40123, Name: "backwards", Encode: backwards, Decode: backwards}); err != nil {
		log.Fatal(err)
	}
	defer h5.UnregisterFilter(40123)
	f, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	d, err := f.Root().CreateDataset("d", h5.Uint(1, h5.LittleEndian), h5.SimpleSpace(4), &h5.DatasetOptions{
		ChunkShape: []int64{4}, Filters: []h5.Filter{{ID: 40123}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := h5value.Write(d, []byte{1, 2, 3, 4}, h5.Region{Start: []int64{0}, Count: []int64{4}}); err != nil {
		log.Fatal(err)
	}
	if err := d.Flush(); err != nil {
		log.Fatal(err)
	}
	image, err := f.Image()
	if err != nil {
		log.Fatal(err)
	}
	got, err := h5value.ReadAll[byte](d)
	fmt.Println(got, err, bytes.Contains(image, []byte{4, 3, 2, 1}))
	// Output: [1 2 3 4] <nil> true
}

// errors.Is returns the class of an error, and errors.As its details.
func ExampleError() {
	f, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	_, err = f.Root().OpenDataset("a/b")
	fmt.Println(errors.Is(err, h5.ErrNotFound), errors.Is(err, fs.ErrNotExist))
	var e *h5.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op, e.Path, e.Stack[0].Func)
	}
	// Output:
	// true true
	// open dataset /a/b H5Dopen2
}
