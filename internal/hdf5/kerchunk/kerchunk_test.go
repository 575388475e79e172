package kerchunk_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/kerchunk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// write writes the references of a new file with the array /g/x, of two chunks without compression.
func write(t *testing.T, name string, format kerchunk.Format, change func(s *kerchunk.Source)) (file string, err error) {
	t.Helper()
	ctx := t.Context()
	file = filepath.Join(t.TempDir(), "x.h5")
	spec := ndarray.Spec{
		Shape: []int64{4}, ChunkShape: []int64{2}, DType: ndarray.DTypeOf[int32](), Compression: &ndarray.Compression{Codec: "none"},
		Attrs: []ndarray.Attr{{Name: "units", Value: ndarray.Text("m")}},
	}
	draft, err := hyperslab.Create(ctx, file+":/g/x", spec, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(ctx, draft.Array, []int32{1, 2, 3, 4}, ndarray.Whole(spec.Shape)))
	require.NoError(t, draft.Commit(ctx))
	require.NoError(t, draft.Close())

	tree, err := hyperslab.OpenTree(ctx, file, nil)
	require.NoError(t, err)
	defer tree.Close()
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	b, err := os.Open(file)
	require.NoError(t, err)
	defer b.Close()
	info, err := b.Stat()
	require.NoError(t, err)
	s := &kerchunk.Source{
		URL: "https://example.org/x.h5", File: f, Bytes: b, Size: info.Size(), Arrays: tree.Open, Attrs: tree.GroupAttrs,
		Objects: []kerchunk.Object{{Path: "/", Group: true}, {Path: "/g", Group: true}, {Path: "/g/x"}},
	}
	if change != nil {
		change(s)
	}
	return file, kerchunk.Write(ctx, name, format, s)
}

func TestWrite_json(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	file, err := write(t, name, kerchunk.JSON, nil)
	require.NoError(t, err)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var doc struct {
		Version int                        `json:"version"`
		Refs    map[string]json.RawMessage `json:"refs"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, 1, doc.Version)
	require.Contains(t, string(doc.Refs["g/x/.zattrs"]), `\"units\":\"m\"`)
	require.Contains(t, string(doc.Refs["g/x/.zarray"]), `\"chunks\":[2]`)
	require.Contains(t, string(doc.Refs[".zmetadata"]), "g/.zgroup")
	stored, err := os.ReadFile(file)
	require.NoError(t, err)
	for chunk, first := range map[string]uint32{"g/x/0": 1, "g/x/1": 3} {
		var place []any
		require.NoError(t, json.Unmarshal(doc.Refs[chunk], &place))
		require.Equal(t, "https://example.org/x.h5", place[0])
		require.EqualValues(t, 8, place[2])
		offset, ok := place[1].(float64)
		require.True(t, ok)
		require.Equal(t, first, binary.LittleEndian.Uint32(stored[int(offset):]))
	}
}

func TestWrite_parquet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.parq")
	_, err := write(t, name, kerchunk.Parquet, nil)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(name, "g/x/refs.0.parq"))
	text, err := os.ReadFile(filepath.Join(name, ".zmetadata"))
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	require.Contains(t, string(text), `"record_size":10000`)
}

func TestWrite_errors(t *testing.T) {
	reason := errors.New("no such type")
	for name, x := range map[string]struct {
		change func(s *kerchunk.Source)
		path   string
		is     error
	}{
		"unsupported array":   {func(s *kerchunk.Source) { s.Objects[2].Err = reason }, "/g/x", kerchunk.ErrNotZarr},
		"name of metadata":    {func(s *kerchunk.Source) { s.Objects[1].Path = "/.zgroup" }, "/.zgroup", kerchunk.ErrNotZarr},
		"backslash in a name": {func(s *kerchunk.Source) { s.Objects[1].Path = `/a\b` }, `/a\b`, kerchunk.ErrNotZarr},
		"array without access": {func(s *kerchunk.Source) {
			s.Arrays = func(context.Context, string) (*ndarray.Array, error) { return nil, reason }
		}, "/g/x", reason},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := write(t, filepath.Join(t.TempDir(), "x.json"), kerchunk.JSON, x.change)
			require.ErrorIs(t, err, x.is)
			at, ok := errors.AsType[*kerchunk.Error](err)
			require.True(t, ok)
			require.Equal(t, x.path, at.Path)
			require.True(t, strings.HasPrefix(err.Error(), x.path+": "))
			if x.is == kerchunk.ErrNotZarr {
				require.ErrorIs(t, err, errors.ErrUnsupported)
			}
		})
	}
	_, err := write(t, filepath.Join(t.TempDir(), "x"), "zarr", nil)
	require.ErrorContains(t, err, `got "zarr", want "json" or "parquet"`)
}
