package ddl_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// shapes are those of the datasets /0, /1, … of the tests of parts.
var shapes = [][]int64{{50}, {9, 11}, {5, 6, 7}, {3, 4, 3, 5}, {4, 0}}

func shaped(t testing.TB) *h5.File {
	t.Helper()
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	for i, shape := range shapes {
		d, err := f.Root().CreateDataset(fmt.Sprint(i), h5.Int(4, 0), h5.SimpleSpace(shape...), nil)
		require.NoError(t, err)
		values := make([]int32, h5.SimpleSpace(shape...).NumElems())
		for k := range values {
			values[k] = int32(k)
		}
		require.NoError(t, h5value.Write(d, values, h5.SimpleSpace(shape...).All()))
	}
	require.NoError(t, f.Flush())
	return f
}

// dumped returns h5dump's output for a part.
func dumped(t require.TestingT, tool, path, object string, part h5.Region) string {
	list := func(v []int64) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ","), "[]") }
	args := []string{"-d", object, "-s", list(part.Start), "-c", list(part.Count)}
	if part.Stride != nil {
		args = append(args, "-S", list(part.Stride))
	}
	if part.Block != nil {
		args = append(args, "-k", list(part.Block))
	}
	cmd := exec.Command(tool, append(args, path)...)
	cmd.Env = append(os.Environ(), "HDF5_USE_FILE_LOCKING=FALSE")
	out, err := cmd.Output()
	require.NoError(t, err, args)
	return string(out)
}

// TestPart_H5dump checks that parts of any rank, with strides and blocks, are printed exactly as
// by h5dump, including the order of the values and the commas.
func TestPart_H5dump(t *testing.T) {
	tool := testenv.Tool(t, "h5dump") // the oracle
	f := shaped(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3).Draw(t, "dataset")
		part := h5.Region{}
		strides, blocks := rapid.Bool().Draw(t, "strides"), rapid.Bool().Draw(t, "blocks")
		for _, length := range shapes[n] {
			start := rapid.Int64Range(0, length-1).Draw(t, "start")
			block, stride := int64(1), int64(1)
			if blocks {
				block = rapid.Int64Range(1, min(length-start, 3)).Draw(t, "block")
				stride = block
			}
			if strides {
				stride = rapid.Int64Range(block, block+3).Draw(t, "stride")
			}
			most := (length-start-block)/stride + 1
			if blocks && !strides { // then the stride of h5dump is 1
				stride, most = 1, 1
			}
			part.Start = append(part.Start, start)
			part.Count = append(part.Count, rapid.Int64Range(1, most).Draw(t, "count"))
			if strides {
				part.Stride = append(part.Stride, stride)
			}
			if blocks {
				part.Block = append(part.Block, block)
			}
		}
		object := fmt.Sprint("/", n)
		var got bytes.Buffer
		require.NoError(t, ddl.Write(&got, f, &ddl.Options{Object: object, Part: &part}))
		require.Equal(t, words(dumped(t, tool, f.Path(), object, part)), words(got.String()), "%s %+v", object, part)
	})
}

// TestPart_Places checks that every line of a part begins with the index of its first element in
// the dataset, including continuation lines. h5dump counts the elements of those lines from the
// first line.
func TestPart_Places(t *testing.T) {
	f := shaped(t)
	got := write(t, f, &ddl.Options{Object: "/0", Part: &h5.Region{Start: []int64{3}, Stride: []int64{6}, Count: []int64{8}, Block: []int64{4}}})
	lines := 0
	for line := range strings.Lines(got) {
		var at, value int
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "(%d): %d", &at, &value); n == 2 {
			require.Equal(t, value, at, line)
			lines++
		}
	}
	require.Equal(t, 2, lines, got)
	got = write(t, f, &ddl.Options{Object: "/2", Part: &h5.Region{Start: []int64{1, 2, 3}, Count: []int64{2, 2, 2}}})
	require.Contains(t, got, "\n      (1,2,3): 59, 60,\n      (1,3,3): 66, 67\n      (2,2,3): 101, 102,\n      (2,3,3): 108, 109\n      }\n")
}

// TestPart_types checks parts of every kind of element, and an empty part.
func TestPart_types(t *testing.T) {
	tool := testenv.Tool(t, "h5dump") // the oracle
	f := everything(t)
	for _, tt := range []struct {
		path string
		part h5.Region
	}{
		{"/texts", h5.Region{Start: []int64{1}, Count: []int64{2}}},
		{"/fixed", h5.Region{Start: []int64{1}, Count: []int64{1}}},
		{"/records", h5.Region{Start: []int64{0}, Count: []int64{2}}},
		{"/floats", h5.Region{Start: []int64{0}, Count: []int64{3}, Stride: []int64{3}}},
		{"/same", h5.Region{Start: []int64{1, 0}, Count: []int64{2, 30}}},
	} {
		got := write(t, f, &ddl.Options{Object: tt.path, Part: &tt.part})
		require.Equal(t, words(dumped(t, tool, f.Path(), tt.path, tt.part)), words(got), tt.path)
	}
	got := write(t, shaped(t), &ddl.Options{Object: "/4", Part: &h5.Region{Start: []int64{1, 0}, Count: []int64{1, 0}}})
	require.Contains(t, got, "COUNT ( 1, 0 );\n      BLOCK ( 1, 1 );\n      DATA {\n      }\n")
}

// TestPart_invalid checks that parts outside a dataset are refused before anything is written.
func TestPart_invalid(t *testing.T) {
	f := everything(t)
	for _, tt := range []struct {
		path string
		part h5.Region
		want error
	}{
		{"/floats", h5.Region{Start: []int64{8}, Count: []int64{2}}, h5.ErrRegion},
		{"/floats", h5.Region{Start: []int64{0, 0}, Count: []int64{1, 1}}, h5.ErrRegion},
		{"/floats", h5.Region{Start: []int64{0}, Count: []int64{2}, Stride: []int64{1}, Block: []int64{2}}, h5.ErrRegion},
		{"/one", h5.Region{}, h5.ErrRegion},
		{"/null", h5.Region{}, h5.ErrRegion},
		{"/g", h5.Region{Start: []int64{0}, Count: []int64{1}}, h5.ErrKind},
	} {
		var b bytes.Buffer
		require.ErrorIs(t, ddl.Write(&b, f, &ddl.Options{Object: tt.path, Part: &tt.part}), tt.want, tt.path)
		require.Empty(t, b.String())
	}
}

// TestPart_longRow checks that a row with blocks that is longer than the read buffer is written
// completely.
func TestPart_longRow(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	values := make([]int32, 400_000)
	for i := range values {
		values[i] = int32(i)
	}
	d, err := f.Root().CreateDataset("d", h5.Int(4, 0), h5.SimpleSpace(400_000), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, values, h5.SimpleSpace(400_000).All()))
	for _, part := range []h5.Region{
		{Start: []int64{5}, Stride: []int64{3}, Count: []int64{100_000}, Block: []int64{2}},
		{Start: []int64{5}, Stride: []int64{150_000}, Count: []int64{2}, Block: []int64{100_000}},
	} {
		text := write(t, f, &ddl.Options{Object: "/d", Part: &part})
		_, text, _ = strings.Cut(text, "DATA {")
		n := int64(0)
		for _, w := range words(text) {
			if w == "}" {
				break
			}
			require.Equal(t, fmt.Sprint(5+n/part.Block[0]*part.Stride[0]+n%part.Block[0]), strings.TrimSuffix(w, ","))
			n++
		}
		require.Equal(t, part.NumElems(), n)
	}
}
