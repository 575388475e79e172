package bcolztree_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
)

// FuzzMetadata passes any bytes to the JSON readers. There must be no panic, every error must have
// its type, and accepted metadata must be unchanged after writing and reading.
func FuzzMetadata(f *testing.F) {
	for _, name := range arrays(f) {
		for _, file := range []string{bcolztree.SizesFile, bcolztree.StorageFile, bcolztree.AttrsFile} {
			f.Add(readGolden(f, name+"/"+file))
		}
	}
	f.Add(readGolden(f, "table/__rootdirs__"))
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, b, bcolztree.ParseSizes)
		again(t, b, bcolztree.ParseStorage)
		again(t, b, bcolztree.ParseRootDirs)
		again(t, b, bcolztree.ParseAttrs)
	})
}

func again[T interface{ Append([]byte) []byte }](t *testing.T, b []byte, parse func([]byte) (T, error)) {
	v, err := parse(b)
	if err != nil {
		var e *format.Error
		require.ErrorAs(t, err, &e)
		return
	}
	text := v.Append(nil)
	w, err := parse(text)
	require.NoError(t, err, "%s", text)
	require.Equal(t, string(text), string(w.Append(nil)))
}

// FuzzChunkFile passes any bytes to the reader of chunk files, as a file of one full chunk.
func FuzzChunkFile(f *testing.F) {
	for _, name := range []string{"exact", "type_i4", "codec_zstd", "codec_none", "bitshuffle", "object"} {
		f.Add(readGolden(f, name+"/data/__0.blp"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = bcolztree.DescribeFile(b)
		fsys := oneFile(4, 1)
		fsys["data/__0.blp"] = &fstest.MapFile{Data: b}
		_ = bcolztree.Describe(fsys, ".")
		a, err := bcolztree.ReadArray(fsys, ".", nil)
		require.NoError(t, err)
		chunks, err := a.ReadChunks(0)
		if err != nil {
			var e *format.Error
			require.True(t, errors.As(err, &e), "%v", err)
			return
		}
		total := 0
		for _, c := range chunks {
			total += int(c.Header.NBytes)
			require.Len(t, c.Data, int(c.Header.CBytes))
		}
		require.Equal(t, 16, total)
	})
}
