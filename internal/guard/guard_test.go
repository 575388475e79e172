package guard_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/guard"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// chunks returns the valid chunks of the readers' test data by file name.
func chunks(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../format/testdata/chunk/*.bin")
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		if _, err := guard.Whole(b, guard.Policy{}); err == nil {
			out[filepath.Base(f)] = b
		}
	}
	require.Greater(t, len(out), 5)
	return out
}

// TestWhole_corrupt changes one byte of the headers of valid chunks. Whole must accept only chunks
// that the check of package chunk accepts, and Ordinary only chunks that Whole accepts.
func TestWhole_corrupt(t *testing.T) {
	valid := chunks(t)
	names := make([]string, 0, len(valid))
	for name := range valid {
		names = append(names, name)
	}
	interesting := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		b := bytes.Clone(valid[rapid.SampledFrom(names).Draw(t, "chunk")])
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			b[rapid.IntRange(0, min(len(b), guard.Blosc2Header)-1).Draw(t, "at")] = rapid.SampledFrom(interesting).Draw(t, "byte")
		}
		c, err := guard.Whole(b, guard.Policy{})
		n, size, ok := guard.Ordinary(b)
		if err != nil {
			require.False(t, ok)
			refused++
			return
		}
		accepted++
		h, err := chunk.ParseHeader(b)
		require.NoError(t, err)
		require.NoError(t, h.Check())
		require.LessOrEqual(t, c.CBytes, len(b))
		require.EqualValues(t, h.NBytes, c.NBytes)
		if ok {
			require.Equal(t, c.NBytes, n)
			require.Equal(t, c.CBytes, size)
			require.Zero(t, c.Special)
			require.False(t, c.Dict)
		}
	})
	testenv.Occurred(t, accepted, accepted+refused)
	testenv.Occurred(t, refused, accepted+refused)
}

func TestWhole_policy(t *testing.T) {
	b := bytes.Clone(chunks(t)["zlib.bin"])
	require.True(t, guard.Extended(b))
	b[0x10] = byte(chunk.NDCell)
	b[0x18] = 4
	_, err := guard.Whole(b, guard.Policy{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.False(t, guard.Invalid(err))
	_, err = guard.Whole(b, guard.Allow([]uint8{}, []uint8{uint8(chunk.NDCell)}))
	require.NoError(t, err)
	_, err = guard.Whole(b[:len(b)-1], guard.Allow([]uint8{}, []uint8{uint8(chunk.NDCell)}))
	require.ErrorIs(t, err, format.ErrTruncated)
	require.True(t, guard.Invalid(err))
}

// TestUnread checks each stored chunk of a frame once, and again after a corruption.
func TestUnread(t *testing.T) {
	b, err := os.ReadFile("../format/testdata/frame/py-vlmeta.b2nd")
	require.NoError(t, err)
	open := func(b []byte) (*guard.Frame, *guard.Unread) {
		f, err := guard.OpenFrame(bytes.NewReader(b), int64(len(b)), guard.Policy{})
		require.NoError(t, err)
		u, err := f.Unread(chunk.Decode)
		require.NoError(t, err)
		require.NotNil(t, u)
		return f, u
	}
	f, u := open(b)
	a, ok, err := f.Array()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, f.NumChunks, a.NumChunks())
	block := f.TypeSize
	for _, n := range a.Blocks {
		block *= int(n)
	}
	want := guard.Expected{NBytes: f.ChunkSize, TypeSize: f.TypeSize, Block: block}
	checked := 0
	for i := range f.NumChunks {
		c, err := u.Check(i, guard.Policy{}, want)
		require.NoError(t, err)
		if c.NBytes > 0 {
			checked++
		}
		u = u.Done(i)
	}
	require.Positive(t, checked)
	require.Nil(t, u, "all chunks are checked")

	_, u = open(b)
	for name, wrong := range map[string]guard.Expected{
		"length": {NBytes: want.NBytes + 1, TypeSize: want.TypeSize, Block: want.Block},
		"block":  {NBytes: want.NBytes, TypeSize: want.TypeSize, Block: want.Block + 1},
	} {
		_, err := u.Check(0, guard.Policy{}, wrong)
		require.ErrorIs(t, err, format.ErrCorrupt, name)
	}
	bad := bytes.Clone(b)
	bad[f.HeaderSize+0x1F] |= 0x08 // a lazy chunk
	_, u = open(bad)
	for range 2 {
		_, err = u.Check(0, guard.Policy{}, want)
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
	_, err = guard.OpenFrame(bytes.NewReader(b[:len(b)-1]), int64(len(b)-1), guard.Policy{})
	require.ErrorIs(t, err, format.ErrTruncated)
}

func TestFindSuperblock(t *testing.T) {
	const signature = "\x89HDF\r\n\x1a\n"
	v0 := append([]byte(signature), 0, 0, 0, 0, 0, 8, 8, 0)
	v3 := append([]byte(signature), 3, 17, 8, 0, 0, 0, 0, 0)
	for name, tt := range map[string]struct {
		b    []byte
		want guard.Superblock
		ok   bool
	}{
		"version 0":           {v0, guard.Superblock{Version: 0, AddressSize: 8}, true},
		"version 3":           {v3, guard.Superblock{Version: 3, AddressSize: 17}, true},
		"after a user block":  {append(make([]byte, 1024), v3...), guard.Superblock{Version: 3, AddressSize: 17}, true},
		"at another location": {append(make([]byte, 513), v3...), guard.Superblock{}, false},
		"too short":           {v0[:15], guard.Superblock{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok, err := guard.FindSuperblock(bytes.NewReader(tt.b), int64(len(tt.b)))
			require.NoError(t, err)
			require.Equal(t, tt.ok, ok)
			require.Equal(t, tt.want, got)
		})
	}
}

func TestChunkLengths_Check(t *testing.T) {
	const nbit, deflate, fletcher32 = 5, 1, 3
	thin := guard.Filter{ID: nbit, Values: []uint32{8, 0, 10, 1, 4, 0, 20, 0}} // 10 numbers of 20 bits
	require.Nil(t, guard.NewChunkLengths([]guard.Filter{{ID: deflate, Values: []uint32{1}}}, 4, 40))
	l := guard.NewChunkLengths([]guard.Filter{thin, {ID: fletcher32}}, 4, 40)
	require.NotNil(t, l)
	require.False(t, l.EarlySums())
	for bytes, want := range map[uint64]string{3: "3 bytes for fletcher32, which reads 4", 28: "24 bytes for nbit, which reads 25", 29: ""} {
		err := l.Check(bytes, 0, make([]byte, 4))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	require.NoError(t, l.Check(4, 1, make([]byte, 4)), "n-bit is masked")
	require.Error(t, thin.Parameters(8, 80), "parameters of another type")
	early := guard.NewChunkLengths([]guard.Filter{{ID: fletcher32}, {ID: 32000}}, 4, 40)
	require.True(t, early.EarlySums())
	undo := func(n int) func(guard.Filter, []byte, uint64) ([]byte, error) {
		return func(guard.Filter, []byte, uint64) ([]byte, error) { return make([]byte, n), nil }
	}
	require.NoError(t, early.CheckSums(0, make([]byte, 10), undo(4)))
	require.ErrorIs(t, early.CheckSums(0, make([]byte, 10), undo(3)), format.ErrCorrupt)
}
