package remote

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func TestWriteIndex(t *testing.T) {
	body := content(5<<20 + 77)
	s := serve(t, body)
	dir := t.TempDir()
	parts := [][2]int{{0, 100}, {1 << 20, 1 << 20}, {1<<20 + 100, 50}, {len(body) - 10, 10}}
	read := func(c *Client, url string) error {
		o, err := c.Open(t.Context(), url)
		if err != nil {
			return err
		}
		for _, r := range parts {
			if _, err := o.ReadAt(make([]byte, r[1]), int64(r[0])); err != nil {
				return err
			}
		}
		return o.Close()
	}
	write := func(t *testing.T, name, source string) string {
		var b bytes.Buffer
		require.NoError(t, WriteIndex(t.Context(), &b, source, "", &Options{AllowPrivate: true}, read))
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
		return name
	}
	check := func(t *testing.T, o *Object) {
		for _, r := range parts {
			p := make([]byte, r[1])
			_, err := o.ReadAt(p, int64(r[0]))
			require.NoError(t, err)
			require.True(t, bytes.Equal(body[r[0]:r[0]+r[1]], p))
		}
	}
	file := write(t, "url.index", s.URL+"/x")
	require.NoError(t, os.WriteFile(dir+"/local", body, 0o600))
	fromFile := write(t, "file.index", dir+"/local")

	t.Run("no request", func(t *testing.T) {
		c := local(t)
		require.NoError(t, c.UseIndex(file, ""))
		o := open(t, c, s.URL+"/x")
		defer o.Prefetch(t.Context(), func(yield func(off, n int64) bool) { yield(1<<20, 1000) })()
		check(t, o)
		require.Zero(t, c.Stats().Requests)
		p := make([]byte, 100)
		_, err := o.ReadAt(p, 3<<20)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body[3<<20:3<<20+100], p))
		require.Equal(t, int64(1), c.Stats().Requests)
	})
	t.Run("index of a local file", func(t *testing.T) {
		c := local(t)
		require.ErrorIs(t, c.UseIndex(fromFile, ""), ErrIndex)
		require.NoError(t, c.UseIndex(fromFile, s.URL+"/x"))
		check(t, open(t, c, s.URL+"/x"))
		require.Equal(t, int64(1), c.Stats().Requests)
	})
	t.Run("changed object", func(t *testing.T) {
		other := bytes.Clone(body)
		other[50]++
		changed := serve(t, other)
		changed.tag = `"v2"`
		c := local(t)
		require.NoError(t, c.UseIndex(fromFile, changed.URL+"/x"))
		_, err := c.Open(t.Context(), changed.URL+"/x")
		require.ErrorIs(t, err, ErrChanged)
		c = local(t)
		require.NoError(t, c.UseIndex(file, changed.URL+"/x"))
		o := open(t, c, changed.URL+"/x")
		_, err = o.ReadAt(make([]byte, 10), 3<<20)
		require.ErrorIs(t, err, ErrChanged)
	})
	t.Run("secret query", func(t *testing.T) {
		signed := write(t, "signed.index", s.URL+"/x?signature=secret")
		b, err := os.ReadFile(signed)
		require.NoError(t, err)
		require.NotContains(t, string(b), "secret")
		c := local(t)
		require.NoError(t, c.UseIndex(signed, ""))
		o := open(t, c, s.URL+"/x?signature=another") // of a later day
		check(t, o)
		require.Zero(t, c.Stats().Requests)
		require.False(t, open(t, c, s.URL+"/x").Indexed())
		c = local(t)
		require.NoError(t, c.UseIndex(signed, s.URL+"/x?signature=third"))
		require.True(t, open(t, c, s.URL+"/x?signature=third").Indexed())
		require.False(t, open(t, c, s.URL+"/x?signature=fourth").Indexed())
	})
	t.Run("corrupt files", func(t *testing.T) {
		valid, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, at := range []int{0, len(valid) - 1, len(valid) - 12, len(valid) - 20, len(valid) - 28, len(valid) - 40, -1} {
			b := bytes.Clone(valid)
			if at < 0 {
				b = b[:20]
			} else {
				b[at] ^= 0x55
			}
			require.NoError(t, os.WriteFile(dir+"/corrupt", b, 0o600))
			require.ErrorIs(t, local(t).UseIndex(dir+"/corrupt", ""), ErrIndex, at)
		}
		small := smallIndex(t, 64<<20)
		require.Less(t, len(small), 16<<10)
		require.NoError(t, os.WriteFile(dir+"/corrupt", small, 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.ErrorIs(t, local(t).UseIndex(dir+"/corrupt", ""), ErrIndex)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		b := bytes.Clone(valid)
		b[100] ^= 0x55 // in a frame
		require.NoError(t, os.WriteFile(dir+"/corrupt", b, 0o600))
		c := local(t)
		require.NoError(t, c.UseIndex(dir+"/corrupt", ""))
		o := open(t, c, s.URL+"/x")
		_, err = o.ReadAt(make([]byte, 100), 0)
		require.ErrorIs(t, err, ErrIndex)
	})
}

func TestClient_UseIndex_archive(t *testing.T) {
	body := content(3<<20 + 5)
	s := serve(t, body)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/local", body, 0o600))
	var one bytes.Buffer
	require.NoError(t, WriteIndex(t.Context(), &one, dir+"/local", "", nil, func(c *Client, url string) error {
		o, err := c.Open(t.Context(), url)
		if err != nil {
			return err
		}
		_, err = o.ReadAt(make([]byte, 1000), 2<<20)
		return errors.Join(err, o.Close())
	}))
	require.NoError(t, os.WriteFile(dir+"/one", one.Bytes(), 0o600))
	archive := func(t *testing.T, comment string, method uint16, names ...string) string {
		f, err := os.Create(filepath.Join(t.TempDir(), "x.index"))
		require.NoError(t, err)
		z := zip.NewWriter(f)
		for _, name := range names {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
			require.NoError(t, err)
			_, err = w.Write(one.Bytes())
			require.NoError(t, err)
		}
		require.NoError(t, errors.Join(z.SetComment(comment), z.Close(), f.Close()))
		return f.Name()
	}
	check := func(t *testing.T, c *Client, url string) {
		o := open(t, c, url)
		require.True(t, o.Indexed())
		before := c.Stats().Requests
		p := make([]byte, 1000)
		_, err := o.ReadAt(p, 2<<20)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body[2<<20:2<<20+1000], p))
		require.Equal(t, before, c.Stats().Requests)
	}
	t.Run("recorded URL", func(t *testing.T) {
		c := local(t)
		require.NoError(t, c.UseIndex(archive(t, s.URL+"/", zip.Store, "x", "deep/y"), ""))
		check(t, c, s.URL+"/x")
		check(t, c, s.URL+"/deep/y")
		check(t, c, s.URL+"/deep/y?signature=z")
		require.False(t, open(t, c, s.URL+"/other").Indexed())
	})
	t.Run("escaped names", func(t *testing.T) {
		c := local(t)
		require.NoError(t, c.UseIndex(archive(t, s.URL+"/in%20it/", zip.Store, "a b", "a%20b", "ü", "q?x", "h#x"), ""))
		for _, at := range []string{"a%20b", "a%2520b", "%C3%BC", "q%3Fx", "h%23x", "a%20b?signature=z"} {
			require.True(t, open(t, c, s.URL+"/in%20it/"+at).Indexed(), at)
		}
		x, err := c.indexForLocked(s.URL + "/in%20it/a%20b")
		require.NoError(t, err)
		other, err := c.indexForLocked(s.URL + "/in%20it/a%2520b")
		require.NoError(t, err)
		require.NotSame(t, x, other)
	})
	t.Run("memory", func(t *testing.T) {
		names := make([]string, 100)
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		c := local(t)
		require.NoError(t, c.UseIndex(archive(t, s.URL+"/", zip.Store, names...), ""))
		for _, name := range names {
			o, err := c.Open(t.Context(), s.URL+"/"+name)
			require.NoError(t, err)
			_, err = o.ReadAt(make([]byte, 1000), 2<<20)
			require.NoError(t, errors.Join(err, o.Close()))
		}
		require.Eventually(t, func() bool {
			runtime.GC()
			n := 0
			for _, m := range c.members {
				if m.index.Value() != nil {
					n++
				}
			}
			return n <= len(c.recent)
		}, 10*time.Second, time.Millisecond)
		runtime.KeepAlive(c)
	})
	t.Run("single index before and after", func(t *testing.T) {
		c := local(t)
		file := archive(t, s.URL+"/", zip.Store, "x")
		require.NoError(t, c.UseIndex(dir+"/one", s.URL+"/x?"))
		before := c.indexOf[s.URL+"/x?"]
		require.NoError(t, c.UseIndex(file, ""))
		x, err := c.indexForLocked(s.URL + "/x?a=b")
		require.NoError(t, err)
		require.NotSame(t, before, x, "the archive is later")
		require.NoError(t, c.UseIndex(dir+"/one", s.URL+"/x"))
		last, err := c.indexForLocked(s.URL + "/x")
		require.NoError(t, err)
		require.NotSame(t, x, last, "the single index is later")
	})
	t.Run("another URL", func(t *testing.T) {
		c := local(t)
		file := archive(t, "https://example.org/", zip.Store, "x")
		require.NoError(t, c.UseIndex(file, s.URL+"/moved/"))
		check(t, c, s.URL+"/moved/x")
		require.NoError(t, c.UseIndex(file, s.URL+"/again/"))
		check(t, c, s.URL+"/again/x")
		c.CloseIdle()
		require.False(t, open(t, c, s.URL+"/moved/x").Indexed())
	})
	t.Run("empty", func(t *testing.T) {
		c := local(t)
		require.NoError(t, c.UseIndex(archive(t, s.URL+"/", zip.Store), ""))
		require.False(t, open(t, c, s.URL+"/x").Indexed())
	})
	for name, file := range map[string]string{
		"no URL":             archive(t, "", zip.Store, "x"),
		"URL of a file":      archive(t, s.URL+"/x", zip.Store, "x"),
		"URL with a query":   archive(t, s.URL+"/?a/", zip.Store, "x"),
		"compressed indexes": archive(t, s.URL+"/", zip.Deflate, "x"),
		"equal names":        archive(t, s.URL+"/", zip.Store, "x", "x"),
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, local(t).UseIndex(file, ""), ErrIndex) })
	}
	t.Run("corrupt", func(t *testing.T) {
		file := archive(t, s.URL+"/", zip.Store, "x", "y")
		valid, err := os.ReadFile(file)
		require.NoError(t, err)
		failed := 0
		for at := 0; at < len(valid); at += 2 {
			b := bytes.Clone(valid)
			b[at] ^= 0x55
			require.NoError(t, os.WriteFile(file, b, 0o600))
			c := local(t)
			o, err := (*Object)(nil), c.UseIndex(file, s.URL+"/")
			if err == nil {
				o, err = c.Open(t.Context(), s.URL+"/y")
			}
			if err == nil {
				_, err = o.ReadAt(make([]byte, 1000), 2<<20)
				require.NoError(t, o.Close())
			}
			if err != nil {
				require.ErrorIs(t, err, ErrIndex, "byte %d", at)
				failed++
			}
			c.CloseIdle()
		}
		require.Greater(t, failed, one.Len()/4)
	})
}

// smallIndex returns a small index file whose table has n bytes of equal intervals.
func smallIndex(t *testing.T, n int) []byte {
	table := []byte{}
	for _, x := range []uint64{1 << 40, 0, 0, 0, uint64(n)} { // size, three strings, number of intervals
		table = binary.AppendUvarint(table, x)
	}
	table = append(table, bytes.Repeat([]byte{0, 1}, n/2)...)
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer z.Close()
	stored := z.EncodeAll(table, nil)
	b := append([]byte(indexMagic), stored...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(indexMagic)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(stored)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(stored, castagnoli))
	return append(b, indexMagic...)
}
