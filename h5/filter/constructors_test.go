package filter_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
)

// constructed returns one filter of each constructor and codec.
func constructed() map[string]h5.Filter {
	all := map[string]h5.Filter{
		"zstd": filter.Zstd(9), "zstd default": filter.Zstd(0), "zstd fast": filter.Zstd(-5), "lz4": filter.LZ4(), "lzf": filter.LZF(),
		"bzip2": filter.BZip2(1), "bitshuffle lz4": filter.BitShuffleLZ4(), "bitshuffle zstd": filter.BitShuffleZstd(5),
	}
	for _, codec := range cblosc.Codecs() {
		all["blosc "+codec.String()] = filter.Blosc(codec, 5, cblosc.Shuffle)
		all["blosc2 "+codec.String()] = filter.Blosc2(codec, 5, cblosc.BitShuffle)
	}
	return all
}

// TestConstructors checks that libhdf5, a Pipeline, and h5py with hdf5plugin read datasets of every
// constructor. No chunk may be stored without the filter, and filters that compress must store
// fewer bytes.
func TestConstructors(t *testing.T) {
	f, path := newFile(t)
	kind := h5.IEEEFloat(4, h5.LittleEndian)
	src := data(4*60*50, 1)
	all := constructed()
	all["bitshuffle"] = filter.BitShuffle() // does not compress
	for name, step := range all {
		d, err := f.Root().CreateDataset(name, kind, h5.SimpleSpace(60, 50), &h5.DatasetOptions{ChunkShape: []int64{30, 50}, Filters: []h5.Filter{step}})
		require.NoError(t, err, name)
		require.NoError(t, d.WriteRegion(src, kind, region(60, 50)), name)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for name := range all {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err)
		got := make([]byte, len(src))
		require.NoError(t, d.ReadRegion(got, kind, region(60, 50)), name)
		require.Equal(t, src, got, name)
		require.Equal(t, 2, chunksOf(t, d, filter.Options{}), name)
		stored, _, err := d.Stored()
		require.NoError(t, err)
		if name != "bitshuffle" {
			require.Less(t, stored, int64(len(src)), name)
		}
		for c, err := range d.StoredChunks() {
			require.NoError(t, err)
			require.Zero(t, c.FilterMask, name)
		}
	}
	sums := python(t, `
import sys, json, h5py, hdf5plugin, zlib
with h5py.File(sys.argv[1]) as f:
    print(json.dumps({k: zlib.crc32(f[k][()].tobytes()) for k in f}))
`, path)
	require.Equal(t, len(all), compareSums(t, f, sums))
}

// TestConstructors_hdf5plugin checks that each constructor stores the same parameters as
// hdf5plugin.
func TestConstructors_hdf5plugin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	out := python(t, `
import sys, json, h5py, hdf5plugin as p
kinds = {
    'zstd': p.Zstd(clevel=9), 'bzip2': p.BZip2(blocksize=1), 'bitshuffle': p.Bitshuffle(cname='none'),
    'bitshuffle lz4': p.Bitshuffle(cname='lz4'), 'bitshuffle zstd': p.Bitshuffle(cname='zstd', clevel=5),
    'blosc zstd': p.Blosc(cname='zstd', clevel=5, shuffle=p.Blosc.SHUFFLE), 'blosc lz4': p.Blosc(cname='lz4', clevel=5, shuffle=p.Blosc.SHUFFLE),
    'blosc2 zstd': p.Blosc2(cname='zstd', clevel=5, filters=p.Blosc2.BITSHUFFLE), 'blosc2 blosclz': p.Blosc2(cname='blosclz', clevel=5, filters=p.Blosc2.BITSHUFFLE),
}
with h5py.File(sys.argv[1], 'w') as f:
    for name, how in kinds.items():
        f.create_dataset(name, (60, 50), '<f4', chunks=(30, 50), **how)
    f.create_dataset('lzf', (60, 50), '<f4', chunks=(30, 50), compression='lzf')
    print(json.dumps(list(f)))
`, path+"2")
	var names []string
	require.NoError(t, json.Unmarshal([]byte(out), &names))
	require.Len(t, names, 10)
	theirs, err := h5.Open(path+"2", h5.ReadOnly)
	require.NoError(t, err)
	defer theirs.Close()
	all := constructed()
	all["bitshuffle"] = filter.BitShuffle()
	ours, err := h5.CreateImage(nil)
	require.NoError(t, err)
	defer ours.Close()
	for _, name := range names {
		d, err := theirs.Root().OpenDataset(name)
		require.NoError(t, err)
		want, err := d.Info()
		require.NoError(t, err)
		d, err = ours.Root().CreateDataset(name, h5.IEEEFloat(4, h5.LittleEndian), h5.SimpleSpace(60, 50),
			&h5.DatasetOptions{ChunkShape: []int64{30, 50}, Filters: []h5.Filter{all[name]}})
		require.NoError(t, err)
		got, err := d.Info()
		require.NoError(t, err)
		require.Len(t, want.Filters, 1)
		require.Equal(t, want.Filters[0].ID, got.Filters[0].ID, name)
		require.Equal(t, want.Filters[0].Optional && name != "bitshuffle", got.Filters[0].Optional, name)
		stored := append([]uint32(nil), want.Filters[0].Values...)
		switch name {
		case "bitshuffle": // hdf5plugin stores the default block size and codec
			require.Equal(t, []uint32{0, 0}, stored[3:5])
			stored = stored[:3]
		case "bitshuffle lz4", "bitshuffle zstd":
			require.Len(t, stored, len(got.Filters[0].Values), name)
		}
		if all[name].ID == filter.IDBitShuffle {
			stored[1] = got.Filters[0].Values[1] // minor version of the library
		}
		require.Equal(t, stored, got.Filters[0].Values, name)
	}
}

func TestConstructors_invalid(t *testing.T) {
	f, err := h5.CreateImage(nil)
	require.NoError(t, err)
	defer f.Close()
	for name, step := range map[string]h5.Filter{
		"zstd level":            filter.Zstd(23),
		"zstd low level":        filter.Zstd(-1<<17 - 1),
		"bzip2 level 0":         filter.BZip2(0),
		"bzip2 level 10":        filter.BZip2(10),
		"bitshuffle zstd level": filter.BitShuffleZstd(100),
		"bitshuffle block":      {ID: filter.IDBitShuffle, Values: []uint32{12}},
		"blosc level":           filter.Blosc(cblosc.LZ4, 10, cblosc.Shuffle),
		"blosc negative level":  filter.Blosc(cblosc.LZ4, -1, cblosc.Shuffle),
		"blosc codec":           filter.Blosc(3, 5, cblosc.Shuffle),
		"blosc shuffle":         filter.Blosc(cblosc.LZ4, 5, 200),
		"blosc2 level":          filter.Blosc2(cblosc.Zstd, 10, cblosc.NoFilter),
	} {
		t.Run(name, func(t *testing.T) {
			create := func(step h5.Filter) error {
				_, err := f.Root().CreateDataset(fmt.Sprint(name, step.Name), h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8),
					&h5.DatasetOptions{ChunkShape: []int64{8}, Filters: []h5.Filter{step}})
				return err
			}
			err := create(step)
			require.ErrorIs(t, err, h5.ErrParam)
			require.ErrorContains(t, err, fmt.Sprintf("filter %d", step.ID))
			step.Name = "from a file"
			require.NoError(t, create(step), "a dataset of a file can be copied")
		})
	}
}
