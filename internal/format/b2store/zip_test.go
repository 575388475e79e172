package b2store_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
)

// zipOf creates a ZIP file with members that contain their names. change edits their headers.
func zipOf(t require.TestingT, change func(h *zip.FileHeader), names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		data := []byte("data of " + name)
		if strings.HasSuffix(name, "/") {
			data = nil
		}
		h := &zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))}
		if change != nil {
			change(h)
		}
		m, err := w.CreateRaw(h)
		require.NoError(t, err)
		_, err = m.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func readZip(b []byte, l b2store.Limits) ([]b2store.Member, error) {
	return b2store.ReadZip(bytes.NewReader(b), int64(len(b)), l)
}

func TestReadZip(t *testing.T) {
	b := zipOf(t, nil, "embed.b2e", "g/", "g/a.b2nd", "b.b2f", "sub/deep/c.b2b")
	members, err := readZip(b, b2store.Limits{})
	require.NoError(t, err)
	var names []string
	for _, m := range members {
		names = append(names, m.Name)
		require.Equal(t, "data of "+m.Name, string(b[m.Offset:][:m.Size]))
		require.Equal(t, crc32.ChecksumIEEE(b[m.Offset:][:m.Size]), m.CRC)
	}
	require.Equal(t, []string{"b.b2f", "embed.b2e", "g/a.b2nd", "sub/deep/c.b2b"}, names)
	require.True(t, b2store.IsZip(b))
	for _, store := range []bool{true, false} {
		if !store {
			b = zipOf(t, nil, "a")
		}
		got, err := b2store.IsStore(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.Equal(t, store, got)
	}
}

// TestReadZip_Reference compares the names and data of valid files with archive/zip.
func TestReadZip_Reference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}(/[a-zä]{1,3}){0,2}`), 0, 8, rapid.ID[string]).Draw(t, "names")
		b := zipOf(t, func(h *zip.FileHeader) { h.Flags |= 1 << 11 }, names...)
		members, err := readZip(b, b2store.Limits{})
		require.NoError(t, err)
		r, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		require.NoError(t, err)
		require.Len(t, members, len(r.File))
		for _, f := range r.File {
			i, found := slices.BinarySearchFunc(members, f.Name, func(m b2store.Member, name string) int { return strings.Compare(m.Name, name) })
			require.True(t, found)
			offset, err := f.DataOffset()
			require.NoError(t, err)
			require.Equal(t, b2store.Member{Name: f.Name, Offset: offset, Size: int64(f.UncompressedSize64), CRC: f.CRC32}, members[i])
		}
	})
}

func TestReadZip_64(t *testing.T) {
	names := make([]string, 70_000) // more than a 16-bit count can represent
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	b := zipOf(t, nil, names...)
	members, err := readZip(b, b2store.Limits{})
	require.NoError(t, err)
	require.Len(t, members, len(names))
	at := bytes.LastIndex(b, []byte("PK\x06\x07"))
	b[at+8]++ // the locator contains another offset
	_, err = readZip(b, b2store.Limits{})
	require.ErrorIs(t, err, format.ErrCorrupt)
}

// central returns the offset of the i-th entry of the central directory.
func central(b []byte, i int) int {
	at := 0
	for range i + 1 {
		at += bytes.Index(b[at:], []byte("PK\x01\x02")) + 4
	}
	return at - 4
}

func TestReadZip_Hostile(t *testing.T) {
	le := binary.LittleEndian
	patch := func(f func(b []byte)) []byte {
		b := zipOf(t, nil, "embed.b2e", "x/aa", "x/bb")
		f(b)
		return b
	}
	inner := zipOf(t, nil, "bb")
	overlap := func() []byte { // the data of aa contains the local header and the data of bb
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		local := inner[:central(inner, 0)]
		m, err := w.CreateRaw(&zip.FileHeader{Name: "aa", CompressedSize64: uint64(len(local)), UncompressedSize64: uint64(len(local))})
		require.NoError(t, err)
		_, err = m.Write(local)
		require.NoError(t, err)
		m, err = w.CreateRaw(&zip.FileHeader{Name: "bb", CompressedSize64: 10, UncompressedSize64: 10})
		require.NoError(t, err)
		_, err = m.Write([]byte("data of bb"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		out := b.Bytes()
		le.PutUint32(out[central(out, 1)+42:], 30+2) // offset of the header inside aa
		return out
	}
	bomb := func() []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		m, err := w.Create("embed.b2e")
		require.NoError(t, err)
		_, err = m.Write(make([]byte, 1<<20))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, format.ErrMagic},
		{"no directory", bytes.Repeat([]byte{7}, 100), format.ErrMagic},
		{"compressed member", bomb(), format.ErrUnsupported},
		{"encrypted member", patch(func(b []byte) { b[central(b, 1)+8] |= 1 }), format.ErrUnsupported},
		{"several disks", patch(func(b []byte) { b[len(b)-22+4] = 1 }), format.ErrUnsupported},
		{"parent directory", zipOf(t, nil, "../x"), format.ErrCorrupt},
		{"parent inside", zipOf(t, nil, "a/../../x"), format.ErrCorrupt},
		{"absolute path", zipOf(t, nil, "/x"), format.ErrCorrupt},
		{"empty component", zipOf(t, nil, "a//x"), format.ErrCorrupt},
		{"current directory", zipOf(t, nil, "./x"), format.ErrCorrupt},
		{"backslash", zipOf(t, nil, `a\..\x`), format.ErrCorrupt},
		{"zero byte", zipOf(t, nil, "a\x00x"), format.ErrCorrupt},
		{"empty name", zipOf(t, nil, ""), format.ErrCorrupt},
		{"name of another encoding", zipOf(t, nil, "ä"), format.ErrCorrupt},
		{"long name", zipOf(t, nil, strings.Repeat("x", 5000)), format.ErrCorrupt},
		{"deep path", zipOf(t, nil, strings.Repeat("x/", 300)+"x"), format.ErrCorrupt},
		{"symbolic link", zipOf(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }, "x"), format.ErrCorrupt},
		{"two members of a name", zipOf(t, nil, "x", "x"), format.ErrCorrupt},
		{"overlapping members", overlap(), format.ErrCorrupt},
		{"same header twice", patch(func(b []byte) { copy(b[central(b, 2)+42:][:4], b[central(b, 1)+42:][:4]) }), format.ErrCorrupt},
		{"size beyond the file", patch(func(b []byte) {
			le.PutUint32(b[central(b, 2)+20:], 1<<30)
			le.PutUint32(b[central(b, 2)+24:], 1<<30)
		}), format.ErrCorrupt},
		{"sizes that differ", patch(func(b []byte) { b[central(b, 2)+24]++ }), format.ErrCorrupt},
		{"offset beyond the file", patch(func(b []byte) { le.PutUint32(b[central(b, 2)+42:], 1<<30) }), format.ErrTruncated},
		{"another local name", patch(func(b []byte) { b[bytes.Index(b, []byte("x/aa"))] = 'y' }), format.ErrCorrupt},
		{"local compression", patch(func(b []byte) { b[8] = 8 }), format.ErrCorrupt},
		{"directory entry with data", bytes.ReplaceAll(zipOf(t, nil, "x/ab"), []byte("x/ab"), []byte("x/a/")), format.ErrCorrupt},
		{"more members than bytes", patch(func(b []byte) { le.PutUint32(b[len(b)-14:], 1000) }), format.ErrUnsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readZip(c.b, b2store.Limits{})
			require.ErrorIs(t, err, c.want)
			var e *format.Error
			require.ErrorAs(t, err, &e)
		})
	}
	b := zipOf(t, nil, "a", "b", "c")
	_, err := readZip(b, b2store.Limits{Objects: 2})
	require.ErrorIs(t, err, format.ErrLimit)
	_, err = readZip(b, b2store.Limits{Directory: 100})
	require.ErrorIs(t, err, format.ErrLimit)
}

func TestReadZip_Truncated(t *testing.T) {
	b := zipOf(t, nil, "embed.b2e", "x/aa")
	for n := range b {
		_, err := readZip(b[:n], b2store.Limits{})
		require.Error(t, err, n)
		_, err = readZip(b[n+1:], b2store.Limits{})
		require.Error(t, err, n)
	}
}

func FuzzReadZip(f *testing.F) {
	f.Add(zipOf(f, nil, "embed.b2e", "g/a.b2nd"))
	f.Add(zipOf(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		members, err := readZip(b, b2store.Limits{})
		if err != nil {
			var e *format.Error
			require.True(t, errors.As(err, &e))
			return
		}
		slices.SortFunc(members, func(a, b b2store.Member) int { return int(a.Offset - b.Offset) })
		end := int64(0)
		for _, m := range members {
			require.True(t, fs.ValidPath(m.Name))
			require.GreaterOrEqual(t, m.Offset, end)
			require.LessOrEqual(t, m.Offset+m.Size, int64(len(b)))
			end = m.Offset + m.Size
		}
	})
}
