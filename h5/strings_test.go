package h5_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestVariableStrings checks strings of variable length. They crash the process with gonum's
// binding (defect 4).
func TestVariableStrings(t *testing.T) {
	for _, cs := range []h5.CharSet{h5.ASCII, h5.UTF8} {
		d := newDataset(t, h5.VariableString(cs), h5.SimpleSpace(2, 3), &h5.DatasetOptions{ChunkShape: []int64{2, 2}})
		words := []string{"", "a", "Grüße", "日本", strings.Repeat("x", 100_000), "end"}
		all := region([]int64{0, 0}, []int64{2, 3})
		got, err := readStrings(d, all)
		require.NoError(t, err)
		require.Equal(t, make([]string, 6), got, "never written: null pointers")
		require.NoError(t, h5value.Write(d, words, all))
		got, err = readStrings(d, all)
		require.NoError(t, err)
		require.Equal(t, words, got)
		got, err = readStrings(d, region([]int64{0, 1}, []int64{2, 1}))
		require.NoError(t, err)
		require.Equal(t, []string{"a", strings.Repeat("x", 100_000)}, got)
		info, err := d.Info()
		require.NoError(t, err)
		require.True(t, info.Datatype.Equal(h5.VariableString(cs)), "%v", info.Datatype)
	}
}

func TestFixedStrings(t *testing.T) {
	for _, tt := range []struct {
		pad     h5.StringPad
		fits    []string
		tooLong string
		want    string
	}{
		{h5.NullTerm, []string{"", "a", "abcd"}, "abcde", "element 1: wrong size: string: got 5 bytes, want at most 4"},
		{h5.NullPad, []string{"", "a", "abcde"}, "abcdef", "element 1: wrong size: string: got 6 bytes, want at most 5"},
		{h5.SpacePad, []string{"", " a", "abcde"}, "abcdef", "element 1: wrong size: string: got 6 bytes, want at most 5"},
	} {
		t.Run(tt.pad.String(), func(t *testing.T) {
			d := newDataset(t, h5.FixedString(5, tt.pad, h5.ASCII), h5.SimpleSpace(3), nil)
			all := region([]int64{0}, []int64{3})
			require.NoError(t, h5value.Write(d, tt.fits, all))
			got, err := readStrings(d, all)
			require.NoError(t, err)
			require.Equal(t, tt.fits, got)
			err = h5value.Write(d, []string{"x", tt.tooLong, "y"}, all)
			require.ErrorIs(t, err, h5.ErrSize)
			require.ErrorContains(t, err, tt.want)
			require.ErrorIs(t, h5value.Write(d, []string{"x", "a\x00b", "y"}, all), h5.ErrParam)
			got, err = readStrings(d, all)
			require.NoError(t, err)
			require.Equal(t, tt.fits, got, "no byte was written")
		})
	}
	d := newDataset(t, h5.FixedString(5, h5.SpacePad, h5.ASCII), h5.SimpleSpace(1), nil)
	require.ErrorIs(t, h5value.Write(d, []string{"ab "}, region([]int64{0}, []int64{1})), h5.ErrParam, "would come back shorter")
	raw := make([]byte, 5)
	require.NoError(t, h5value.Write(d, []string{"ab"}, region([]int64{0}, []int64{1})))
	require.NoError(t, d.ReadRegion(raw, h5.FixedString(5, h5.SpacePad, h5.ASCII), region([]int64{0}, []int64{1})))
	require.Equal(t, "ab   ", string(raw))
}

func TestStrings_count(t *testing.T) {
	d := newDataset(t, h5.VariableString(h5.UTF8), h5.SimpleSpace(3), nil)
	err := h5value.Write(d, []string{"a"}, region([]int64{0}, []int64{3}))
	require.ErrorIs(t, err, h5.ErrSize)
	require.ErrorContains(t, err, "slice has 1 elements, 3 selected")
	_, err = readStrings(d, region([]int64{2}, []int64{2}))
	require.ErrorIs(t, err, h5.ErrRegion)
	require.ErrorIs(t, h5value.Write(d, []string{"a", "b"}, region([]int64{2}, []int64{2})), h5.ErrRegion)
	got, err := readStrings(d, region([]int64{0}, []int64{0}))
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestStringsRoundTrip(t *testing.T) {
	variable := newDataset(t, h5.VariableString(h5.UTF8), h5.SimpleSpace(4), nil)
	fixed := newDataset(t, h5.FixedString(20, h5.NullPad, h5.UTF8), h5.SimpleSpace(4), nil)
	all := region([]int64{0}, []int64{4})
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.Map(rapid.StringN(0, 5, 20), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
		words := rapid.SliceOfN(word, 4, 4).Draw(t, "words")
		for _, d := range []*h5.Dataset{variable, fixed} {
			require.NoError(t, h5value.Write(d, words, all))
			got, err := readStrings(d, all)
			require.NoError(t, err)
			require.Equal(t, words, got)
		}
	})
}
