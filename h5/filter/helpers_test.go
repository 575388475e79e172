package filter_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// data returns n bytes of elements that compress like measurements.
func data(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 0, n+8)
	for i := 0; len(b) < n; i++ {
		v := float32(math.Round(math.Sin(float64(i)/50)*20)) + float32(r.IntN(2))/2
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b[:n]
}

// A setting is a filter with its parameters, as a file stores them and as a caller passes them to
// libhdf5.
type setting struct {
	name   string
	id     int
	given  []uint32 // to H5Pset_filter
	stored func(element int, dims ...int) []uint32
}

func same(v ...uint32) func(int, ...int) []uint32 {
	return func(int, ...int) []uint32 { return v }
}

func total(element int, dims []int) uint32 {
	n := element
	for _, d := range dims {
		n *= d
	}
	return uint32(n)
}

// settings returns every filter with several sets of parameters.
func settings() []setting {
	all := []setting{
		{"shuffle", h5.FilterShuffle, nil, func(e int, _ ...int) []uint32 { return []uint32{uint32(e)} }},
		{"fletcher32", h5.FilterFletcher32, nil, same()},
		{"lzf", filter.IDLZF, nil, func(e int, d ...int) []uint32 { return []uint32{4, 0x105, total(e, d)} }},
		{"lz4", filter.IDLZ4, nil, same()},
		{"lz4/1000", filter.IDLZ4, []uint32{1000}, same(1000)},
		{"zstd", filter.IDZstd, nil, same()},
		{"zstd/9", filter.IDZstd, []uint32{9}, same(9)},
	}
	for _, level := range []uint32{0, 1, 6, 9} {
		all = append(all, setting{fmt.Sprint("deflate/", level), h5.FilterDeflate, []uint32{level}, same(level)})
	}
	for _, block := range []uint32{1, 9} {
		all = append(all, setting{fmt.Sprint("bzip2/", block), filter.IDBZip2, []uint32{block}, same(block)})
	}
	for _, how := range [][]uint32{{}, {64}, {0, 2}, {128, 2}, {0, 3, 5}, {1024, 3, 1}} {
		all = append(all, setting{fmt.Sprint("bitshuffle", how), filter.IDBitShuffle, how, func(e int, _ ...int) []uint32 {
			return append([]uint32{0, 4, uint32(e)}, how...)
		}})
	}
	for codec := range uint32(6) {
		if codec == 3 {
			continue // Snappy, or an unused number
		}
		for shuffle := range uint32(3) {
			given := []uint32{0, 0, 0, 0, 5, shuffle, codec}
			all = append(all,
				setting{fmt.Sprintf("blosc/%d/%d", codec, shuffle), filter.IDBlosc, given, func(e int, d ...int) []uint32 {
					return []uint32{2, 2, uint32(e), total(e, d), 5, shuffle, codec}
				}},
				setting{fmt.Sprintf("blosc2/%d/%d", codec, shuffle), filter.IDBlosc2, given, func(e int, d ...int) []uint32 {
					v := []uint32{1, 0, uint32(e), total(e, d), 5, shuffle, codec}
					if len(d) > 1 {
						v = append(v, uint32(len(d)))
						for _, n := range d {
							v = append(v, uint32(n))
						}
					}
					return v
				}})
		}
	}
	return all
}

// python runs a script with h5py and the plug-ins of hdf5plugin.
func python(t testing.TB, script string, args ...string) string {
	t.Helper()
	return pythonWith(t, []string{"h5py", "hdf5plugin"}, script, args...)
}

func pythonWith(t testing.TB, modules []string, script string, args ...string) string {
	t.Helper()
	return testutil.Python(t, modules, append([]string{"-c", script}, args...)...)
}

// sampled returns the step with which a Python script takes its cases: 1 if all of them must run.
func sampled(step string) string {
	if testenv.All() {
		return "1"
	}
	return step
}

func newFile(t testing.TB) (*h5.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	return f, path
}

func region(shape ...int64) h5.Region {
	return h5.Region{Start: make([]int64, len(shape)), Count: shape}
}
