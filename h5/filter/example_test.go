package filter_test

import (
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// Datasets are compressed with Zstandard and with Blosc2. h5py reads them with the plug-ins of
// hdf5plugin.
func Example() {
	f, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = float64(i)
	}
	region := h5.Region{Start: []int64{0}, Count: []int64{10_000}}
	for name, filters := range map[string][]h5.Filter{
		"zstd":   {h5.Shuffle(), filter.Zstd(3)},
		"blosc2": {filter.Blosc2(cblosc.Zstd, 5, cblosc.BitShuffle)},
	} {
		d, err := f.Root().CreateDataset(name, h5.IEEEFloat(8, h5.LittleEndian), h5.SimpleSpace(10_000),
			&h5.DatasetOptions{ChunkShape: []int64{2000}, Filters: filters})
		if err != nil {
			log.Fatal(err)
		}
		if err := h5value.Write(d, values, region); err != nil {
			log.Fatal(err)
		}
	}
	_, err = f.Root().CreateDataset("bad", h5.Int(1, h5.LittleEndian), h5.SimpleSpace(100),
		&h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{filter.Zstd(99)}})
	fmt.Println(err)
	// Output:
	// h5: create dataset /bad: invalid parameter: filter 32015 with values [99]: level 99, want -131072 to 22
}
