package bcolztree_test

import (
	"fmt"
	"os"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
)

// This example reads the metadata of an array and its chunk files.
func ExampleReadArray() {
	a, err := bcolztree.ReadArray(os.DirFS("testdata"), "rows", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Sizes.Shape, a.Storage.DType.Text, a.Storage.CParams.Codec)
	for i := range a.NumFiles() {
		chunks, err := a.ReadChunks(i)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.FileName(i), a.FileBytes(i), "bytes,", len(chunks[0].Data), "stored")
	}
	// Output:
	// [5 2 3] float64 lz4
	// data/__0.blp 96 bytes, 112 stored
	// data/__1.blp 96 bytes, 112 stored
	// data/__2.blp 48 bytes, 64 stored
}

// This example lists the columns of a table.
func ExampleReadTable() {
	t, err := bcolztree.ReadTable(os.DirFS("testdata"), "table", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range t.Names {
		a, err := t.Column(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, a.Storage.DType.Text, a.Rows())
	}
	// Output:
	// id int32 6
	// value float64 6
	// tag |S3 6
}

// This example finds a chunk file that is no longer used by its array.
func ExampleDescribe() {
	for path, f := range bcolztree.Describe(os.DirFS("testdata"), "stale").Complaints() {
		fmt.Println(path+":", f.Complaint)
	}
	// Output:
	// stale/data/__2.blp: left over from a longer array, not read
}

// This example encodes metadata with the same bytes as bcolz.
func ExampleSizes_Append() {
	fmt.Printf("%s", bcolztree.Sizes{Shape: []int64{100000}, NBytes: 400000, CBytes: 266904}.Append(nil))
	// Output:
	// {"shape": [100000], "nbytes": 400000, "cbytes": 266904}
}
