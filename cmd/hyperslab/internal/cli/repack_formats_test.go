// Tests of repack for arrays in every format: only the requested properties may change.

package cli_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// bytesBelow returns the content of the file name, or of all files in the directory name. The keys
// are paths relative to name.
func bytesBelow(t *testing.T, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(name, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(file)
		all[strings.TrimPrefix(file, name)] = string(b)
		return err
	}))
	return all
}

func TestRepack_formats(t *testing.T) {
	ctx := context.Background()
	f := ndarray.Compression{Codec: "lz4", Level: 3, Filters: []string{"shuffle"}}
	for name, c := range map[string]struct {
		file, object string
		options      *hyperslab.CreateOptions
		blocks       bool
	}{
		"b2nd":    {file: "s.b2nd", blocks: true},
		"sparse":  {file: "s.b2nd", options: &hyperslab.CreateOptions{Sparse: true}, blocks: true},
		"caterva": {file: "s.caterva", options: &hyperslab.CreateOptions{Format: hyperslab.Caterva}, blocks: true},
		"bcolz":   {file: "s.bcolz"},
		"ctable":  {file: "s.bcolz"},
		"hdf5":    {file: "s.h5", object: ":/x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			spec := ndarray.Spec{
				Shape: []int64{40, 12}, ChunkShape: []int64{10, 12}, DType: ndarray.DTypeOf[int32](), Compression: &f,
				Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}},
			}
			if c.blocks {
				spec.BlockShape = []int64{5, 12}
			}
			flags := map[string]func(s *ndarray.Spec){
				"--codec zlib": func(s *ndarray.Spec) {
					s.Compression.Codec = "zlib"
					if name == "hdf5" { // with the default level of HDF5
						s.Compression.Codec, s.Compression.Level = "deflate", 4
					}
				},
				"--shuffle bit":                  func(s *ndarray.Spec) { s.Compression.Filters[0] = "bitshuffle" },
				"--chunks 20,12":                 func(s *ndarray.Spec) { s.ChunkShape[0], s.BlockShape = 20, nil },
				"--codec zstd --level 7 -j 3":    func(s *ndarray.Spec) { s.Compression.Codec, s.Compression.Level = "zstd", 7 },
				"--codec none --shuffle none":    func(s *ndarray.Spec) { s.Compression = &ndarray.Compression{Codec: "none"} },
				"--chunks 20,12 --blocks 4,6":    func(s *ndarray.Spec) { s.ChunkShape[0], s.BlockShape = 20, []int64{4, 6} },
				"--level 9":                      func(s *ndarray.Spec) { s.Compression.Level = 9 },
				"--codec lz4 --chunks 10,12":     nil, // the array already has this storage
				"--codec lz4 --level 3 --sparse": nil,
				"":                               nil,
			}
			switch name {
			case "hdf5": // lz4 in HDF5 has no levels
				spec.Compression = &ndarray.Compression{Codec: "zstd", Level: 3, Filters: []string{"shuffle"}}
				delete(flags, "--codec lz4 --chunks 10,12")
				flags["--codec zstd --chunks 10,12"] = nil
			case "ctable":
				spec.Shape, spec.ChunkShape, spec.DType = []int64{40}, []int64{10}, dtype(t, "[('a', '<i4'), ('b', '<f8')]")
				delete(flags, "--codec lz4 --chunks 10,12")
				delete(flags, "--chunks 20,12")
			}
			if !c.blocks {
				delete(flags, "--chunks 20,12 --blocks 4,6")
			}
			if name != "sparse" {
				delete(flags, "--codec lz4 --level 3 --sparse")
			}
			source := c.file + c.object
			var a *ndarray.Array
			var commit func() error
			if name == "ctable" {
				b, err := bcolz.CreateRecords(source, spec, nil)
				require.NoError(t, err)
				a, err = ndarray.New(b)
				require.NoError(t, err)
				commit = a.Close
			} else {
				d, err := hyperslab.Create(ctx, source, spec, c.options)
				require.NoError(t, err)
				a, commit = d.Array, func() error { return d.Commit(ctx) }
			}
			b := make([]byte, a.NumElems()*int64(a.DType().Size))
			for i := range b {
				b[i] = byte(i / 4)
			}
			require.NoError(t, a.Write(ctx, b, ndarray.Whole(a.Shape())))
			require.NoError(t, commit())
			was, err := hyperslab.Open(ctx, source, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, was.Close()) }()
			for flag, change := range flags {
				target := "o" + filepath.Ext(c.file)
				_, stderr, code := run(append([]string{"repack", c.file, target}, strings.Fields(flag)...)...)
				require.Zero(t, code, "%s: %s", flag, stderr)
				if change == nil {
					require.Contains(t, stderr, "0 rewritten, 1 copied", flag)
					if name != "hdf5" {
						require.Equal(t, bytesBelow(t, c.file), bytesBelow(t, target), flag)
					}
				} else {
					require.Contains(t, stderr, "1 rewritten, 0 copied", flag)
				}
				is, err := hyperslab.Open(ctx, target+c.object, nil)
				require.NoError(t, err)
				want, got := was.Meta(), is.Meta()
				if change != nil {
					s := want.Spec()
					change(&s)
					want.ChunkShape, want.BlockShape, want.Compression = s.ChunkShape, s.BlockShape, s.Compression
					if c.blocks && s.BlockShape == nil { // the default of the library
						want.BlockShape = got.BlockShape
						require.NotEmpty(t, got.BlockShape)
					}
				}
				want.Path = got.Path
				require.Equal(t, want, got, flag)
				same, err := ndarray.Compare(ctx, was, is, nil)
				require.NoError(t, err)
				require.True(t, same.Equal(), "%s: %+v", flag, same)
				info, err := os.Stat(target)
				require.NoError(t, err)
				require.Equal(t, name == "sparse" || strings.HasSuffix(target, ".bcolz"), info.IsDir(), flag)
				require.NoError(t, errors.Join(is.Close(), os.RemoveAll(target)))
			}
		})
	}
}
