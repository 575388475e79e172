package frameio_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
)

// Many goroutines can read chunks of one open frame.
func ExampleFrame_Decompress() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data.b2frame")
	w, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 4 {
		if err := w.AppendBuffer(binary.LittleEndian.AppendUint64(nil, uint64(i*i))); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := frameio.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	squares := make([]uint64, f.NumChunks())
	var g sync.WaitGroup
	for i := range f.NumChunks() {
		g.Go(func() {
			b := make([]byte, f.ChunkSize())
			if _, err := f.Decompress(b, i); err != nil {
				log.Fatal(err)
			}
			squares[i] = binary.LittleEndian.Uint64(b)
		})
	}
	g.Wait()
	fmt.Println(squares)
	// Output: [0 1 4 9]
}

// This example reads a region of an array. The number of workers that decode its chunks is the
// number of processors.
func ExampleArray_ReadRegion() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data.b2nd")
	p := cblosc.DefaultCParams()
	p.TypeSize = 1
	w, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{3, 4}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 2}, DType: "|u1",
		Storage: cblosc.Storage{Path: path, Contiguous: true, CParams: p},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.WriteRegion([]byte{11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34}, []int64{0, 0}, []int64{3, 4}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	a, err := frameio.OpenArray(path)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	dst := make([]byte, 2*3)
	if err := a.ReadRegion(context.Background(), dst, []int64{1, 1}, []int64{2, 3}, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Println(dst)
	// Output: [22 23 24 32 33 34]
}

// This example writes a frame of small chunks. Every ChunkSize bytes become a chunk, and the file
// does not exist before Commit.
func ExampleCreate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data.b2frame")
	w, err := frameio.Create(path, &frameio.Params{ChunkSize: 4096})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close() // removes the file if it is not committed
	values := make([]byte, 1_000_000)
	for i := range values {
		values[i] = byte(i / 1000)
	}
	if _, err := w.Write(values); err != nil {
		log.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		log.Fatal(err)
	}

	s, err := cblosc.OpenSChunk(path)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(s.NumChunks(), "chunks,", s.NBytes(), "bytes")
	// Output: 245 chunks, 1000000 bytes
}

// This example appends chunks to an existing frame. After an interruption at any moment the frame
// is either unchanged or complete.
func ExampleAppend() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "data.b2frame")
	w, err := frameio.Create(path, &frameio.Params{ChunkSize: 8000})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(make([]byte, 16000)); err != nil {
		log.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		log.Fatal(err)
	}

	more, err := frameio.Append(path, &frameio.AppendOptions{Durable: true})
	if err != nil {
		log.Fatal(err)
	}
	defer more.Close() // undoes the append if it is not committed
	if _, err := more.Write(make([]byte, 24000)); err != nil {
		log.Fatal(err)
	}
	if err := more.Commit(); err != nil {
		log.Fatal(err)
	}

	f, err := frameio.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	fmt.Println(f.NumChunks(), "chunks")
	// Output: 5 chunks
}
