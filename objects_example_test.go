package hyperslab_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
)

// exampleFile writes an array to /run/1 of an HDF5 file in a temporary directory.
func exampleFile() (file string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	file = filepath.Join(dir, "a.h5")
	exampleArray(file + ":/run/1")
	return file, func() { os.RemoveAll(dir) }
}

func ExampleCopyObjects() {
	file, remove := exampleFile()
	defer remove()
	archive := filepath.Join(filepath.Dir(file), "archive.h5")
	objects := []hyperslab.ObjectCopy{{From: file + ":/run/1", To: "/2024/first"}}
	problems, err := hyperslab.CopyObjects(context.Background(), archive, objects, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(problems), "problems")
	for e, err := range hyperslab.Walk(context.Background(), archive, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Path, e.Kind)
	}
	// Output:
	// 0 problems
	// / group
	// /2024 group
	// /2024/first array
}

func ExampleWriteReferences() {
	file, remove := exampleFile()
	defer remove()
	index := strings.TrimSuffix(file, ".h5") + ".json"
	err := hyperslab.WriteReferences(context.Background(), index, file, &hyperslab.ReferenceOptions{URL: "https://host/a.h5"})
	if err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(index)
	fmt.Println(strings.Count(string(text), "https://host/a.h5"), strings.Contains(string(text), `"run/1/.zarray"`), err)
	// Output: 2 true <nil>
}

func ExampleCheckCloud() {
	file, remove := exampleFile()
	defer remove()
	r, err := hyperslab.CheckCloud(context.Background(), file)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range r.Arrays {
		fmt.Println(a.Path, a.Shape, a.Chunks, "chunks of", a.ChunkBytes, "bytes")
	}
	fmt.Println(len(r.Problems), "problems")
	// Output:
	// /run/1 [4 6] 2 chunks of 48 bytes
	// 0 problems
}

func ExampleChunks() {
	file, remove := exampleFile()
	defer remove()
	for c, err := range hyperslab.Chunks(context.Background(), file+":/run/1", nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Index, c.Region, c.Bytes, c.Offset > 0)
	}
	// Output:
	// [0 0] [0:2, 0:6] 48 true
	// [1 0] [2:4, 0:6] 48 true
}

func ExampleRepack() {
	file, remove := exampleFile()
	defer remove()
	cloud := strings.TrimSuffix(file, ".h5") + "-cloud.h5"
	if err := hyperslab.Repack(context.Background(), cloud, file, &hyperslab.RepackOptions{Cloud: true}); err != nil {
		log.Fatal(err)
	}
	report, err := hyperslab.CheckCloud(context.Background(), cloud)
	fmt.Println(report.Requests, report.PageSize > 0, err)
	// Output: 1 true <nil>
}
