package bcolz_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// FuzzRead reads arbitrary bytes as a chunk file, including decompression by C-Blosc2. The result
// must be elements or an error, without a crash.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"codec_blosclz", "codec_lz4", "codec_zlib", "codec_zstd", "bitshuffle", "codec_none", "exact"} {
		b, err := os.ReadFile(filepath.Join(goldenDir, name, "data/__0.blp"))
		require.NoError(f, err)
		f.Add(b)
	}
	dir := filepath.Join(f.TempDir(), "a")
	d := ndarray.DTypeOf[int32]()
	tree{dtype: d, shape: []int64{10}, chunkLen: 2000, data: pattern(d, 10)}.write(f, dir)
	f.Fuzz(func(t *testing.T, b []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "data/__0.blp"), b, 0o666))
		a := open(t, dir)
		defer func() { require.NoError(t, a.Close()) }()
		err := a.Read(bg, make([]byte, 40), ndarray.Whole(a.Shape()))
		if _, parse := bcolztree.ParseFileHeader(b); parse != nil {
			require.Error(t, err)
		}
		var e *ndarray.Error
		if err != nil {
			require.ErrorAs(t, err, &e)
		}
	})
}
