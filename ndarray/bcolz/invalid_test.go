package bcolz_test

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// TestInvalid reads and writes elements that are not valid characters.
func TestInvalid(t *testing.T) {
	array := func(t *testing.T, text string) *ndarray.Array {
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err)
		b, err := bcolz.Create(filepath.Join(t.TempDir(), "x"), ndarray.Spec{Shape: []int64{3}, DType: d}, nil)
		require.NoError(t, err)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, a.Close()) })
		return a
	}
	all := ndarray.Whole([]int64{3})
	for name, r := range map[string]uint32{"code point above the maximum": 0x110000, "surrogate": 0xd800, "code point of 32 bits": 1<<32 - 1} {
		t.Run(name, func(t *testing.T) {
			a := array(t, "<U2")
			raw := make([]byte, 3*8)
			binary.NativeEndian.PutUint32(raw[12:], r)
			require.NoError(t, a.Write(bg, raw, all))
			_, err := ndarray.ReadAll[string](bg, a)
			require.ErrorIs(t, err, ndarray.ErrValue)
			got := make([]byte, len(raw))
			require.NoError(t, a.Read(bg, got, all))
			require.Equal(t, raw, got)
		})
	}
	t.Run("bytes that are not UTF-8 as code points", func(t *testing.T) {
		a := array(t, "<U2")
		require.NoError(t, ndarray.Write(bg, a, []string{"a", "b", "é"}, all))
		require.ErrorIs(t, ndarray.Write(bg, a, []string{"x", "\xff", "y"}, all), ndarray.ErrValue)
		got, err := ndarray.ReadAll[string](bg, a)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "é"}, got, "after a failed write")
	})
	t.Run("bytes that are not UTF-8", func(t *testing.T) {
		a, want := array(t, "S3"), []string{"\xff\xfea", "", "\x80"}
		require.NoError(t, ndarray.Write(bg, a, want, all))
		got, err := ndarray.ReadAll[string](bg, a)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
