package cblosc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cblosc"
)

func ExampleCompressor() {
	data := bytes.Repeat([]byte("temperature "), 1000)

	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize = cblosc.Zstd, 1
	c, err := cblosc.NewCompressor(p)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	chunk := make([]byte, cblosc.MaxCompressedSize(len(data)))
	n, err := c.Compress(chunk, data)
	if err != nil {
		log.Fatal(err)
	}
	chunk = chunk[:n]

	d, err := cblosc.NewDecompressor(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	info, err := cblosc.Info(chunk)
	if err != nil {
		log.Fatal(err)
	}
	back := make([]byte, info.NBytes)
	if _, err := d.Decompress(back, chunk); err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.NBytes, info.CBytes < 1000, bytes.Equal(back, data))
	// Output: 12000 true true
}

func ExampleSChunk() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "days.b2frame")

	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: path, Contiguous: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Meta().Add("unit", []byte("K")); err != nil { // before the first chunk
		log.Fatal(err)
	}
	for day := range 3 {
		if err := s.AppendBuffer(bytes.Repeat([]byte{byte(day)}, 8000)); err != nil {
			log.Fatal(err)
		}
	}
	if err := s.VLMeta().Add("station", []byte("Sonnblick")); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}

	s, err = cblosc.OpenSChunk(path)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	unit, err := s.Meta().Get("unit")
	if err != nil {
		log.Fatal(err)
	}
	station, err := s.VLMeta().Get("station")
	if err != nil {
		log.Fatal(err)
	}
	day := make([]byte, s.ChunkSize())
	if _, err := s.DecompressChunk(day, 2); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d chunks of %d bytes, %s at %s, last %d\n", s.NumChunks(), s.ChunkSize(), unit, station, day[0])
	// Output: 3 chunks of 8000 bytes, K at Sonnblick, last 2
}

// This example stores records of unequal length, compressed with a dictionary, and reads one of
// them. python-blosc2 reads it with schunk.get_vlblock(0, 123).
func ExampleCompressor_CompressVL() {
	params := cblosc.DefaultCParams()
	params.Codec, params.TypeSize = cblosc.Zstd, 1
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: params})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	params.Dict = true
	c, err := cblosc.NewCompressor(params)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var records cblosc.Batch
	for i := range 1000 {
		records.Append(fmt.Appendf(nil, `{"id": %d, "station": "Sonnblick", "height": %d}`, i, 3106+i%7))
	}
	chunk, err := c.CompressVL(&records)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.AppendChunk(chunk); err != nil {
		log.Fatal(err)
	}
	record, err := s.VLBlock(0, 123)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(record))
	// Output: {"id": 123, "station": "Sonnblick", "height": 3110}
}

// This example compresses a block of bfloat16, for example of a cache of keys and values.
func ExamplePool_AppendCompressed() {
	params := cblosc.DefaultCParams() // with Shuffle, which separates exponents and mantissas
	params.Codec, params.Level, params.TypeSize = cblosc.LZ4, 1, 2
	pool, err := cblosc.NewPool(params, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	block := make([]byte, 2<<20)
	for i := range len(block) / 2 {
		bits := math.Float32bits(float32(math.Sin(float64(i)))) >> 16
		binary.LittleEndian.PutUint16(block[2*i:], uint16(bits))
	}
	chunk, err := pool.AppendCompressed(nil, block)
	if err != nil {
		log.Fatal(err)
	}
	back, err := pool.AppendDecompressed(nil, chunk)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(chunk) < len(block)*3/4, bytes.Equal(block, back))
	// Output: true true
}

func ExampleArray() {
	p := cblosc.DefaultCParams()
	p.TypeSize = 1
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape:      []int64{4, 6},
		ChunkShape: []int32{2, 3},
		Blocks:     []int32{1, 3},
		DType:      "|u1",
		Storage:    cblosc.Storage{CParams: p},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := a.WriteRegion([]byte{1, 2, 3, 4}, []int64{1, 2}, []int64{2, 2}); err != nil {
		log.Fatal(err)
	}
	row := make([]byte, 6)
	for i := range a.Shape()[0] {
		if err := a.ReadRegion(row, []int64{i, 0}, []int64{1, 6}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(row)
	}
	// Output:
	// [0 0 0 0 0 0]
	// [0 0 1 2 0 0]
	// [0 0 3 4 0 0]
	// [0 0 0 0 0 0]
}

func ExamplePool() {
	pool, err := cblosc.NewPool(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	results := make(chan int)
	for range 4 {
		go func() {
			data := make([]byte, 1<<20)
			chunk := make([]byte, cblosc.MaxCompressedSize(len(data)))
			n, err := pool.Compress(chunk, data)
			if err != nil {
				log.Fatal(err)
			}
			results <- n
		}()
	}
	for range 4 {
		fmt.Println(<-results) // a chunk of zeros stores no data
	}
	// Output:
	// 32
	// 32
	// 32
	// 32
}

// This example appends a row and reads every second row in reverse order, starting at the last.
func ExampleArray_ReadSteps() {
	p := &cblosc.ArrayParams{Shape: []int64{5, 2}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 2}, DType: "|u1",
		Storage: cblosc.Storage{CParams: cblosc.DefaultCParams()}}
	p.Storage.CParams.TypeSize = 1
	a, err := cblosc.CreateArrayFrom(p, []byte{0, 1, 10, 11, 20, 21, 30, 31, 40, 41})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := a.Append(0, []byte{50, 51}); err != nil {
		log.Fatal(err)
	}
	dst := make([]byte, 6)
	if err := a.ReadSteps(dst, []int64{5, 0}, []int64{3, 2}, []int64{-2, 1}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Shape(), dst)
	// Output: [6 2] [50 51 30 31 10 11]
}

// This example iterates over the chunks of a super-chunk. Two chunks are decompressed ahead of the
// loop.
func ExampleSChunk_Buffers() {
	s, err := cblosc.CreateSChunk(cblosc.Storage{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for i := range 3 {
		if err := s.AppendBuffer(bytes.Repeat([]byte{byte(i)}, 8)); err != nil {
			log.Fatal(err)
		}
	}
	for b, err := range s.Buffers(2) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b)
	}
	// Output:
	// [0 0 0 0 0 0 0 0]
	// [1 1 1 1 1 1 1 1]
	// [2 2 2 2 2 2 2 2]
}

// A frame can be read from any io.ReaderAt. Here it is stored between other bytes, for example as
// in an object of an object store.
func ExampleOpenSChunkOn() {
	s, err := cblosc.CreateSChunk(cblosc.Storage{Contiguous: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := s.AppendBuffer([]byte("eight bytes each")); err != nil {
		log.Fatal(err)
	}
	frame, err := s.Bytes()
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}

	object := append([]byte("header"), frame...)
	s, err = cblosc.OpenSChunkOn(bytes.NewReader(object), int64(len(object)), cblosc.OpenOptions{Offset: 6})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	item := make([]byte, 8)
	if err := s.ReadItems(item, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", item)
	// Output: "tes each"
}

func ExamplePool_CompressEach() {
	p, err := cblosc.NewPool(nil, &cblosc.DParams{MaxBytes: 1 << 20})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	records := [][]byte{[]byte("first record"), []byte("second record")}
	chunks, back := make([][]byte, 2), make([][]byte, 2)
	if err := p.CompressEach(context.Background(), chunks, records); err != nil {
		log.Fatal(err)
	}
	chunks[0] = chunks[0][:10] // damaged
	err = p.DecompressEach(context.Background(), back, chunks)
	items, _ := errors.AsType[cblosc.ItemErrors](err)
	fmt.Println(len(items), errors.Is(items[0], cblosc.ErrFormat), string(back[1]))
	// Output: 1 true second record
}
