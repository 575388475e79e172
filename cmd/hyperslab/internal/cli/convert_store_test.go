package cli_test

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// writeRecords writes an array of 3 structures.
func writeRecords(t *testing.T, location string) {
	t.Helper()
	d := ndarray.StructOf(false, ndarray.Field{Name: "n", Type: ndarray.DTypeOf[int32]()}, ndarray.Field{Name: "x", Type: ndarray.DTypeOf[bool]()})
	draft, err := hyperslab.Create(t.Context(), location, ndarray.Spec{Shape: []int64{3}, DType: d}, nil)
	require.NoError(t, err)
	var data []byte
	for i := range 3 {
		data = append(binary.NativeEndian.AppendUint32(data, uint32(7*i)), byte(i&1))
	}
	require.NoError(t, draft.Write(t.Context(), data, ndarray.Whole([]int64{3})))
	require.NoError(t, draft.Commit(t.Context()))
}

func TestConvert_ctable(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, source := range []string{"a.b2nd", "a.h5:/t", "a.bcolz"} {
		writeRecords(t, source)
		for _, target := range []string{"t.b2z", "t.b2d"} {
			must(t, "convert -q -f --format ctable "+source+" "+target)
			want := "     n  x\n[0]  0  false\n[1]  7  true\n[2]  14  false"
			require.Equal(t, strings.Fields(want), strings.Fields(must(t, "dump "+target)), source)
			require.NoError(t, os.RemoveAll(target))
		}
	}
	out := must(t, "convert --format ctable --dry-run --json a.bcolz t.b2z")
	require.Contains(t, out, `"target_format": "ctable"`)
	require.NoFileExists(t, "t.b2z")
	require.NoError(t, os.Mkdir("out", 0o777))
	must(t, "convert -q --into out --format ctable a.bcolz")
	require.FileExists(t, "out/a.b2z")
	for _, target := range []string{"t.h5", "t", "t.b2nd"} {
		_, stderr, code := run("convert", "--format", "ctable", "a.bcolz", target)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "a table is stored in a .b2z or a .b2d")
	}
}
