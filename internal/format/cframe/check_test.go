// Checks of corrupt frames, and limits.

package cframe_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

func TestCheck(t *testing.T) {
	set := func(name string, off int, v ...byte) []byte {
		b := load(t, name)
		copy(b[off:], v)
		return b
	}
	ff := bytes.Repeat([]byte{0xFF}, 8)
	for name, tt := range map[string]struct {
		b    []byte
		want error
		text string
	}{
		"magic":                 {set("mixed.b2frame", 2, 'B'), format.ErrMagic, "b2frame"},
		"version 0":             {set("mixed.b2frame", 25, 0x10), format.ErrVersion, "version 0"},
		"version 4":             {set("mixed.b2frame", 25, 0x14), format.ErrVersion, "version 4"},
		"variable in version 2": {set("py-objects.b2frame", 25, 0x52), format.ErrCorrupt, "version 3"},
		"variable and fixed":    {set("py-objects.b2frame", 58, 0, 0, 0x20, 0), format.ErrCorrupt, "chunk_size"},
		"32-bit offsets":        {set("mixed.b2frame", 25, 0x02), format.ErrUnsupported, "32-bit"},
		"128-bit offsets":       {set("mixed.b2frame", 25, 0x22), format.ErrUnsupported, "128-bit"},
		"256-bit offsets":       {set("empty.b2frame", 25, 0x32), format.ErrUnsupported, "256-bit"},
		"user's type":           {set("mixed.b2frame", 26, 0x30), format.ErrUnsupported, "user's type 3"},
		"reserved type":         {set("mixed.b2frame", 26, 0x02), format.ErrUnsupported, "reserved type 2"},
		"level 10":              {set("mixed.b2frame", 27, 0xA0), format.ErrCorrupt, "level 10"},
		"snappy":                {set("mixed.b2frame", 27, 0x53), format.ErrUnsupported, "snappy"},
		"codec 7":               {set("mixed.b2frame", 27, 0x57), format.ErrUnsupported, "codec 7"},
		"user's codec, grok":    {set(plugin(t, 37), 0), format.ErrUnsupported, "grok"},
		"user's codec, lz4":     {set(plugin(t, 1), 0), format.ErrUnsupported, "lz4"},
		"negative size":         {set("mixed.b2frame", 30, 0x80), format.ErrCorrupt, ""},
		"more values":           {set("mixed.b2frame", 30, 0x10), format.ErrCorrupt, "chunks"},
		"negative cbytes":       {set("mixed.b2frame", 39, 0x80), format.ErrCorrupt, ""},
		"cbytes beyond the end": {set("mixed.b2frame", 39, 0x10), format.ErrCorrupt, ""},
		"cbytes to the trailer": {set("mixed.b2frame", 45, 0x03, 0x1B), format.ErrCorrupt, ""},
		"type size 0":           {set("mixed.b2frame", 51, 0), format.ErrCorrupt, "type_size"},
		"type size negative":    {set("mixed.b2frame", 48, 0x80), format.ErrCorrupt, "type_size"},
		"block size negative":   {set("mixed.b2frame", 53, 0x80), format.ErrCorrupt, "block_size"},
		"chunk size 0":          {set("mixed.b2frame", 58, 0, 0, 0, 0), format.ErrCorrupt, ""},
		"chunk size -2":         {set("empty.b2frame", 58, 0xFF, 0xFF, 0xFF, 0xFE), format.ErrCorrupt, "chunk_size"},
		"chunk size 1":          {set("mixed.b2frame", 58, 0, 0, 0, 1), format.ErrCorrupt, "20400"},
		"7 filters":             {set("mixed.b2frame", 70, 7), format.ErrCorrupt, "at most 6"},
		"filter 37":             {set("mixed.b2frame", 72, 37), format.ErrUnsupported, "filter 37"},
		"17 metalayers":         {set("mixed.b2frame", 93, 17), format.ErrCorrupt, "17 metalayers"},
		"1 metalayer":           {set("mixed.b2frame", 93, 1), format.ErrCorrupt, ""},
		"name with a zero byte": {set("mixed.b2frame", 95, 0), format.ErrCorrupt, "zero byte"},
		"metalayer elsewhere":   {set("mixed.b2frame", 104, 146), format.ErrCorrupt, "offset 146"},
		"metalayer too long":    {set("mixed.b2frame", 146, 0x7F), format.ErrTruncated, ""},
		"frame size":            {set("mixed.b2frame", 16, ff...), format.ErrCorrupt, "18446744073709551615"},
		"frame size below":      {set("mixed.b2frame", 22, 0, 190), format.ErrCorrupt, "frame_size"},
		"frame size beyond":     {set("mixed.b2frame", 22, 0xFF), format.ErrTruncated, "65499"},
		"header size":           {set("mixed.b2frame", 11, 0, 0, 0, 96), format.ErrCorrupt, "at least 97"},
		"header size negative":  {set("mixed.b2frame", 11, 0xFF), format.ErrCorrupt, "at least 97"},
		"header size beyond":    {set("mixed.b2frame", 13, 1), format.ErrCorrupt, ""},
		"trailer length":        {set("mixed.b2frame", 1755-19, 34), format.ErrCorrupt, ""},
		"trailer length beyond": {set("mixed.b2frame", 1755-22, 0x7F), format.ErrCorrupt, ""},
		"trailer marker":        {set("mixed.b2frame", 1755-23, 0xCF), format.ErrCorrupt, "0xcf"},
		"trailer version":       {set("empty.b2frame", 98, 2), format.ErrVersion, ""},
		"index of a plug-in":    {setIndex(t, 0x02, 0xD7), format.ErrUnsupported, "udcodec"},
		"index not of offsets":  {setIndex(t, 0x04, 47), format.ErrCorrupt, "multiple of 8"},
		"index too short":       {setIndex(t, 0x04, 40), format.ErrCorrupt, "5 chunks"},
		"index too long":        {setIndex(t, 0x0C, 81), format.ErrCorrupt, "32 to 80"},
		"index of bytes":        {setIndex(t, 0x03, 1), format.ErrCorrupt, "8, the bytes of an entry"},
		"index of halves":       {set("mixed.b2frame", 163+715+2, 0x15, 8, 48, 0, 0, 0, 12), format.ErrCorrupt, "a multiple of 8"},
		"index behind delta":    {set("mixed.b2frame", 163+715+2, 0x15, 8, 48, 0, 0, 0, 48, 0, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 3), format.ErrCorrupt, "delta"},
		"index ends early":      {setIndex(t, 0x0C, 79), format.ErrCorrupt, "80, up to the trailer"},
		"vlmeta chunk":          {set("mixed.b2frame", 1755-797+39, 0xFF), format.ErrVersion, ""},
	} {
		f, err := read(tt.b)
		if err == nil {
			err = f.Check()
		}
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.text, name)
		require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(tt.b), int64(len(tt.b)))), name)
	}
	f, err := read(set(plugin(t, 200), 0))
	require.NoError(t, err)
	require.ErrorIs(t, f.Check(), format.ErrUnsupported)
	require.NoError(t, f.CheckPolicy(chunk.Policy{Codecs: []chunk.Codec{200}}))
}

// plugin writes a frame with the codec of a plug-in and returns its name.
func plugin(t *testing.T, id byte) string {
	t.Helper()
	b := load(t, "mixed.b2frame")
	b[27] = 0x56
	b[77] = id
	path := filepath.Join(t.TempDir(), "plugin.b2frame")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		abs, aerr := filepath.Abs(dir)
		require.NoError(t, aerr)
		rel, err = filepath.Rel(abs, path)
	}
	require.NoError(t, err)
	return rel
}

// setIndex returns the mixed frame with one byte of its index changed.
func setIndex(t *testing.T, off int, v byte) []byte {
	t.Helper()
	b := load(t, "mixed.b2frame")
	b[163+715+off] = v
	return b
}

// TestCheckChunks checks each error in the index or chunks that must be rejected.
func TestCheckChunks(t *testing.T) {
	const index = 163 + 715 + 32 // offset of the index values, which are not compressed
	offset := func(i int, o uint64) []byte {
		b := load(t, "mixed.b2frame")
		binary.LittleEndian.PutUint64(b[index+8*i:], o)
		return b
	}
	inChunk := func(off int, v byte) []byte {
		b := load(t, "mixed.b2frame")
		b[163+off] = v
		return b
	}
	for name, tt := range map[string]struct {
		b    []byte
		want error
		text string
	}{
		"beyond the chunks":  {offset(0, 715), format.ErrCorrupt, "chunk 0"},
		"far beyond":         {offset(0, math.MaxInt64), format.ErrCorrupt, "chunk 0"},
		"in a chunk":         {offset(5, 1), format.ErrCorrupt, "chunk 5"},
		"special code 0":     {offset(1, 0x80<<56), format.ErrUnsupported, "reserved code 0"},
		"special code 3":     {offset(1, 0x83<<56), format.ErrUnsupported, "reserved code 3"},
		"special code 5":     {offset(1, 0x85<<56), format.ErrUnsupported, "reserved code 5"},
		"special code 6":     {offset(1, 0x86<<56), format.ErrUnsupported, "reserved code 6"},
		"special code 7":     {offset(1, 0x87<<56), format.ErrUnsupported, "reserved code 7"},
		"special with bits":  {offset(1, 0x81<<56|1), format.ErrCorrupt, "0x8100000000000000"},
		"reserved bit":       {offset(1, 0x91<<56), format.ErrCorrupt, "0x8100000000000000"},
		"overlap":            {offset(2, 0), format.ErrCorrupt, "overlap"},
		"another length":     {offset(0, 503+36), format.ErrCorrupt, "400"},
		"chunk of a plug-in": {inChunk(0x02, 0xC5), format.ErrUnsupported, "chunk 0"},
		"unknown filter":     {inChunk(0x10, 99), format.ErrUnsupported, "filter 99"},
		"chunk too long":     {inChunk(0x0D, 9), format.ErrCorrupt, "cbytes"},
		"lazy chunk":         {inChunk(0x1F, 8), format.ErrCorrupt, "lazy"},
	} {
		f, err := read(tt.b)
		require.NoError(t, err, name)
		require.NoError(t, f.Check(), name)
		err = f.CheckChunks(chunk.Policy{}, nil)
		require.ErrorIs(t, err, tt.want, name)
		require.ErrorContains(t, err, tt.text, name)
		require.NotEmpty(t, complaints(cframe.Describe(bytes.NewReader(tt.b), int64(len(tt.b)))), name)
	}
}

// TestSpecialOffsets checks that special offsets are decoded bit by bit as in C-Blosc2: zeros have
// priority over uninitialized, and uninitialized over NaN.
func TestSpecialOffsets(t *testing.T) {
	for code, want := range []chunk.Special{chunk.NotSpecial, chunk.Zeros, chunk.NaNs, chunk.Zeros,
		chunk.Uninitialized, chunk.Zeros, chunk.Uninitialized, chunk.Zeros} {
		o := cframe.Offset(uint64(0x80|code) << 56)
		require.True(t, o.IsSpecial())
		require.Equal(t, want, o.Special(), code)
		require.Equal(t, code == 1 || code == 2 || code == 4, o.Check() == nil, code)
	}
	require.Equal(t, "special: zeros", cframe.Offset(-0x7F<<56).String())
	require.Equal(t, "17", cframe.Offset(17).String())
	require.NoError(t, cframe.Offset(math.MaxInt64).Check())
}

// TestLimits checks that sizes above a limit are rejected before any allocation.
func TestLimits(t *testing.T) {
	b := load(t, "mixed.b2frame")
	enough := cframe.Limits{Header: 163, Trailer: 797, Index: 48}
	try := func(l cframe.Limits) error {
		f, err := cframe.ReadLimits(bytes.NewReader(b), int64(len(b)), l)
		if err != nil {
			return err
		}
		_, err = f.Offsets(nil)
		return err
	}
	require.NoError(t, try(enough))
	for _, l := range []cframe.Limits{
		{Header: 162, Trailer: 797, Index: 48}, {Header: 163, Trailer: 796, Index: 48}, {Header: 163, Trailer: 797, Index: 47}, {},
	} {
		require.ErrorIs(t, try(l), format.ErrLimit)
	}

	// 40 bytes of the index encode 2^27 chunks. They are read but not decoded.
	b = load(t, "filled.b2frame")
	binary.BigEndian.PutUint64(b[30:], 4000<<27)
	index := 97
	binary.LittleEndian.PutUint32(b[index+4:], 1<<30)
	f, err := read(b)
	require.NoError(t, err)
	require.EqualValues(t, 1<<27, f.NumChunks())
	require.NoError(t, f.Check())
	_, err = f.Offsets(nil)
	require.ErrorIs(t, err, format.ErrLimit)
	tree := cframe.Describe(bytes.NewReader(b), int64(len(b)))
	field, ok := tree.Find("frame/index")
	require.True(t, ok)
	require.Contains(t, field.Meaning, "not listed")
}

// TestDecoder checks that an index is decoded with the given decoder, and that an error of the
// decoder is returned.
