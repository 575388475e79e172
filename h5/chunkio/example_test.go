package chunkio_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	u1 := h5.Uint(1, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", u1, h5.SimpleSpace(4, 6), &h5.DatasetOptions{
		ChunkShape: []int64{2, 3}, Filters: []h5.Filter{h5.Deflate(6)},
	})
	if err != nil {
		log.Fatal(err)
	}

	values := make([]byte, 4*6)
	for i := range values {
		values[i] = byte(i)
	}
	stats, err := chunkio.Write(context.Background(), d, values, u1, h5.Region{Start: []int64{0, 0}, Count: []int64{4, 6}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("chunks written:", stats.Chunks)

	row := make([]byte, 6)
	stats, err = chunkio.Read(context.Background(), d, row, u1, h5.Region{Start: []int64{1, 0}, Count: []int64{1, 6}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("row 1:", row, "from chunks:", stats.Chunks)

	every := h5.Region{Start: []int64{0, 0}, Count: []int64{1, 3}, Stride: []int64{1, 2}}
	stats, err = chunkio.Read(context.Background(), d, row[:3], u1, every, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("every second of row 0:", row[:3], "from chunks:", stats.Chunks)

	stats, err = chunkio.Read(context.Background(), d, row[:3], u1, every, &chunkio.Options{Library: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("by the library:", stats.Fallback)
	// Output:
	// chunks written: 4
	// row 1: [6 7 8 9 10 11] from chunks: 2
	// every second of row 0: [0 2 4] from chunks: 2
	// by the library: asked for
}
