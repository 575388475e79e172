// Examples for go doc.

package cframe_test

import (
	"fmt"
	"log"
	"os"

	"github.com/hyperslab/hyperslab/internal/format/cframe"
)

// This example prints the metalayers of a frame and the array that one of them describes.
func ExampleRead() {
	file, err := os.Open("../testdata/frame/2d.b2nd")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		log.Fatal(err)
	}

	f, err := cframe.Read(file, info.Size())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range f.Metalayers {
		fmt.Println(m.Name, len(m.Content), "bytes")
	}
	meta, ok, err := f.Array()
	fmt.Println(meta, ok, err)
	fmt.Println(f.NumChunks(), "chunks")
	// Output:
	// b2nd 53 bytes
	// shape [10 7], chunks [4 5], blocks [2 3], dtype "<i4" true <nil>
	// 6 chunks
}

// This example prints the parts of a sparse frame.
func ExampleDescribeDir() {
	tree := cframe.DescribeDir(os.DirFS("../testdata/frame/mixed-sparse.b2frame"))
	fmt.Println(tree.Value)
	for _, part := range tree.Fields {
		fmt.Println(part.Offset, part.Length, part.Name)
	}
	// Output:
	// sparse, 6 chunks, 20400 bytes in 715
	// 0 163 header
	// 163 0 chunks
	// 163 80 index
	// 243 797 trailer
}
