package cli_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestRun_unavailablePlugins checks that every command reports an unavailable codec or filter as
// such, and not as corruption.
func TestRun_unavailablePlugins(t *testing.T) {
	t.Chdir(t.TempDir())
	data := make([]int32, 40*50)
	for i := range data {
		data[i] = int32(i / 7)
	}
	a, err := hyperslab.Create(t.Context(), "a.b2nd", ndarray.Spec{Shape: []int64{40, 50}, ChunkShape: []int64{20, 50}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(t.Context(), a.Array, data, ndarray.Whole(a.Shape())))
	require.NoError(t, a.Commit(t.Context()))
	require.NoError(t, a.Close())
	frame, err := os.ReadFile("a.b2nd")
	require.NoError(t, err)
	for name, edit := range map[string]func(frame, chunk []byte){
		"codec.b2nd": func(frame, chunk []byte) {
			frame[27], frame[77] = frame[27]&0xf0|6, 200
			chunk[2], chunk[0x16] = chunk[2]&0x1f|6<<5, 200
		},
		"filter.b2nd": func(frame, chunk []byte) { frame[71], chunk[0x10] = 180, 180 },
		"chunk.b2nd":  func(_, chunk []byte) { chunk[2], chunk[0x16] = chunk[2]&0x1f|6<<5, 200 }, // the header still contains zstd
	} {
		b := bytes.Clone(frame)
		first := b[binary.BigEndian.Uint32(b[11:]):]
		second := first[binary.LittleEndian.Uint32(first[12:]):]
		edit(b, first)
		edit(b, second)
		put(t, name, b)
	}

	f, err := h5.Create("filter.h5", nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(8, h5.NativeOrder), h5.SimpleSpace(4), &h5.DatasetOptions{ChunkShape: []int64{4}, Filters: []h5.Filter{{ID: 31999, Optional: true}}})
	require.NoError(t, err)
	require.NoError(t, d.WriteChunk(make([]byte, 32), 0, 0))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())

	for _, file := range []string{"codec.b2nd", "filter.b2nd", "chunk.b2nd", "filter.h5"} {
		object, codec := file, "zlib"
		if filepath.Ext(file) == ".h5" {
			object, codec = file+":/x", "deflate"
		}
		out := "out" + filepath.Ext(file)
		if object == file { // recover of an HDF5 file copies chunks without decompression
			_, stderr, code := run("recover", file, out)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, "which is not available")
		}
		for _, args := range [][]string{
			{"verify", file},
			{"diff", object, object}, {"diff", "--untrusted", object, object}, {"diff", "--values-only", object, object},
			{"convert", object, "out.npy"}, {"convert", object, "new.b2nd"}, {"convert", object, "new.h5:/y"}, {"convert", "--untrusted", object, "new.b2nd"},
			{"stats", object}, {"stats", "--untrusted", object},
			{"dump", object}, {"dump", "--json", object}, {"dump", "--untrusted", object},
			{"plot", object, "-o", "out.png"},
			{"repack", file, out, "--codec", codec}, {"repack", file, out},
			{"scan", file}, {"info", object}, {"info", "--untrusted", object}, {"ls", file}, {"ls", "--untrusted", file}, {"chunks", object}, {"explain", file},
		} {
			for _, name := range []string{out, "out.npy", "out.png", "new.b2nd", "new.h5"} {
				require.NoError(t, os.RemoveAll(name))
			}
			stdout, stderr, code := run(args...)
			all := strings.ToLower(stdout + stderr)
			if reads := args[0] != "info" && args[0] != "ls" && args[0] != "chunks" && args[0] != "explain" && args[0] != "repack"; reads {
				require.NotZero(t, code, "%v: %s", args, all)
				require.True(t, strings.Contains(all, "not available") || strings.Contains(all, "unsupported") || strings.Contains(all, "cannot be written"), "%v: %s", args, all)
			}
			for _, word := range []string{"corrupt", "damage", "not valid"} {
				require.NotContains(t, all, word, "%v", args)
			}
		}
	}
}
