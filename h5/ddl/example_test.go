package ddl_test

import (
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
)

// This example prints one dataset in the language of h5dump.
func ExampleWrite() {
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
	d, err := f.Root().CreateDataset("depth", h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(3), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := d.WriteRegion([]byte{10, 20, 30}, h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(3).All()); err != nil {
		log.Fatal(err)
	}
	if err := ddl.Write(os.Stdout, f, &ddl.Options{Name: "x.h5", Object: "/depth"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// HDF5 "x.h5" {
	// DATASET "/depth" {
	//    DATATYPE  H5T_STD_U8LE
	//    DATASPACE  SIMPLE { ( 3 ) / ( 3 ) }
	//    DATA {
	//    (0): 10, 20, 30
	//    }
	// }
	// }
}
