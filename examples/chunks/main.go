// Program chunks compresses many small buffers with one call per batch, on all cores.
package main

import (
	"bytes"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/cblosc"
)

func main() {
	params := cblosc.DefaultCParams()
	params.Codec, params.Level, params.TypeSize = cblosc.LZ4, 5, 1
	pool, err := cblosc.NewPool(params, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()

	data := bytes.Repeat([]byte("temperature "), 100_000)
	src, err := cblosc.NewBatch(data, 4096) // items of 4 KiB
	if err != nil {
		log.Fatal(err)
	}
	var chunks, back cblosc.Batch
	if err := pool.CompressBatch(&chunks, src); err != nil {
		log.Fatal(err)
	}
	if err := pool.DecompressBatch(&back, &chunks); err != nil {
		log.Fatal(err)
	}
	fmt.Println(chunks.Len(), "chunks, equal:", bytes.Equal(back.Bytes(), data))
}
