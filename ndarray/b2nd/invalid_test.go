package b2nd_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// numpySizes returns the size in bytes of the type that each text denotes in python-blosc2, or -1
// if NumPy does not accept the text.
func numpySizes(t *testing.T, strs []string) []int {
	t.Helper()
	in, err := json.Marshal(strs)
	require.NoError(t, err)
	cmd := exec.Command(testenv.Python(t, "numpy"), "-c", `
import ast, json, sys, numpy
def size(text):
    try:
        return numpy.dtype(ast.literal_eval(text) if text[:1] in "[({" else text).itemsize
    except Exception:
        return -1
print(json.dumps([size(text) for text in json.load(sys.stdin)]))`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	require.NoError(t, err)
	var sizes []int
	require.NoError(t, json.Unmarshal(out, &sizes))
	require.Len(t, sizes, len(strs))
	return sizes
}

// TestInvalid opens arrays whose type text or elements are invalid.
func TestInvalid(t *testing.T) {
	const size = 4 // bytes of an element
	data := bytes.Repeat([]byte{1, 2, 3, 0xff}, 4)
	stored := func(t *testing.T, text string) string {
		path := raw(t, text, size, nil)
		a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{})
		require.NoError(t, err)
		require.NoError(t, a.WriteRegion(data, []int64{0}, []int64{4}))
		require.NoError(t, a.Close())
		return path
	}
	strs := []string{
		"<i4", ">u4", "|S4", "<U1", "|V4", "float32", "[('a', '<i2'), ('b', '<u2')]", // valid
		"<f3", "<i5", "<x4", "<<i4", "i4 ", " i4", "int99", "<f", "4", "<", "\xff\xfe", "<i4\n", "None", "nan",
		"[", "[]", "[(", "[('a',)]", "[('a', '<i4'), ('a', '<i4')]", "[('a', '<i4', 'b')]", "[('a', '<i4', (0, -1))]",
		"{'names': ['a'], 'formats': ['<i4'], 'itemsize': 2}", "{'names': ['a', 'b'], 'formats': ['<i4']}",
		"('<i4', (-1,))", "M8[xs]", "<M4", "lambda: 0", "__import__('os')", "O", "<i4,", "object",
		"string", "sequence('<i4')", "reference", "enum('<i4', {'A': 1})", "<i8", "<f8", "[('a', '<f8')]",
	}
	sizes := numpySizes(t, strs)
	for i, text := range strs {
		t.Run("type "+text, func(t *testing.T) {
			path := stored(t, text)
			b, err := b2nd.Open(path, nil)
			if err == nil {
				require.Equal(t, size, sizes[i], "NumPy")
				require.NoError(t, b.Close())
				return
			}
			if sizes[i] > 0 && sizes[i] != size && !errors.Is(err, ndarray.ErrType) {
				require.ErrorIs(t, err, ndarray.ErrCorrupt)
				return
			}
			require.ErrorIs(t, err, ndarray.ErrType)
			b, err = b2nd.Open(path, &b2nd.OpenOptions{AnyType: true})
			require.NoError(t, err)
			got := make([]byte, len(data))
			require.NoError(t, b.ReadRegion(bg, got, ndarray.Whole([]int64{4}), 0))
			require.Equal(t, data, got)
			require.NoError(t, b.Close())
		})
	}
	t.Run("code points", func(t *testing.T) {
		path := create(t, func(s *ndarray.Spec) { s.Shape, s.DType = []int64{3}, dtype(t, "<U2") })
		for _, r := range []uint32{0x110000, 0xd800, 1<<32 - 1} {
			b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			raw := make([]byte, 3*8)
			binary.NativeEndian.PutUint32(raw[12:], r)
			require.NoError(t, a.Write(bg, raw, ndarray.Whole([]int64{3})))
			_, err = ndarray.ReadAll[string](bg, a)
			require.ErrorIs(t, err, ndarray.ErrValue, "%#x", r)
			require.ErrorContains(t, err, "1", "index of the element")
			got := make([]byte, len(raw))
			require.NoError(t, a.Read(bg, got, ndarray.Whole([]int64{3})))
			require.Equal(t, raw, got)
			require.ErrorIs(t, ndarray.Write(bg, a, []string{"a", "\xff", ""}, ndarray.Whole([]int64{3})), ndarray.ErrValue)
			require.NoError(t, a.Read(bg, got, ndarray.Whole([]int64{3})))
			require.Equal(t, raw, got, "after a failed write")
			require.NoError(t, a.Close())
		}
	})
	t.Run("bytes that are not UTF-8", func(t *testing.T) {
		path := create(t, func(s *ndarray.Spec) { s.Shape, s.DType = []int64{1}, dtype(t, "S3") })
		b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true})
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		want := []string{"\xff\xfea"}
		require.NoError(t, ndarray.Write(bg, a, want, ndarray.Whole([]int64{1})))
		got, err := ndarray.ReadAll[string](bg, a)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.NoError(t, a.Close())
	})
}
