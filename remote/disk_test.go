package remote

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClient_Open_diskCache(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	body := content(3<<20 + 99)
	dir := filepath.Join(t.TempDir(), "cache")
	cached := func(o *Options) { o.CacheDir = dir }
	read := func(t *testing.T, o *Object, want []byte) {
		t.Helper()
		got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
	}
	s := serve(t, body)
	read(t, open(t, local(t, cached), s.URL+"/x"), body)

	t.Run("another client", func(t *testing.T) {
		o := open(t, local(t, cached), s.URL+"/x")
		read(t, o, body)
		require.Equal(t, int64(1), o.count.stats().Requests, "only the request of Open")
		require.Equal(t, int64(3<<20+99+blockSize-1)>>blockShift-firstRead>>blockShift, o.count.stats().DiskHits)
	})
	t.Run("corrupt blocks", func(t *testing.T) {
		files, err := filepath.Glob(dir + "/*" + dataSuffix)
		require.NoError(t, err)
		require.Len(t, files, 1)
		f, err := os.OpenFile(files[0], os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte("corrupt"), 2<<20)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		o := open(t, local(t, cached), s.URL+"/x")
		read(t, o, body)
		require.Equal(t, int64(2), o.count.stats().Requests)
		require.Less(t, o.count.stats().Bytes, int64(1<<20))
		o = open(t, local(t, cached), s.URL+"/x")
		read(t, o, body)
		require.Equal(t, int64(1), o.count.stats().Requests, "the block was stored again")
	})
	t.Run("planted block", func(t *testing.T) {
		// Another user knows the format and not the key: it copies the entry of another block, or
		// writes a block with an entry of another key.
		data, err := filepath.Glob(dir + "/*" + dataSuffix)
		require.NoError(t, err)
		name := strings.TrimSuffix(filepath.Base(data[0]), dataSuffix)
		planted := make([]byte, blockSize)
		other := &diskObject{name: name, key: []byte("other")}
		for _, number := range []int64{40, 41} {
			f, err := os.OpenFile(data[0], os.O_RDWR, 0)
			require.NoError(t, err)
			sums, err := os.OpenFile(filepath.Join(dir, name+sumsSuffix), os.O_RDWR, 0)
			require.NoError(t, err)
			e := other.entry(planted, number)
			block := planted
			if number == 41 {
				block = body[20*blockSize : 21*blockSize]
				_, err = sums.ReadAt(e[:], 20*sumSize)
				require.NoError(t, err)
			}
			_, err = f.WriteAt(block, number*blockSize)
			require.NoError(t, err)
			_, err = sums.WriteAt(e[:], number*sumSize)
			require.NoError(t, errors.Join(err, f.Close(), sums.Close()))
		}
		o := open(t, local(t, cached), s.URL+"/x")
		read(t, o, body)
		require.Equal(t, int64(2), o.count.stats().Requests)
		read(t, open(t, local(t, cached, func(o *Options) { o.CacheKey = []byte("mine") }), s.URL+"/x"), body)
	})
	t.Run("changed object", func(t *testing.T) {
		other := bytes.Repeat([]byte{7}, len(body))
		s.set(func() { s.body, s.tag = other, `"v2"` })
		read(t, open(t, local(t, cached), s.URL+"/x"), other)
	})
	t.Run("weak ETag", func(t *testing.T) {
		before, err := os.ReadDir(dir)
		require.NoError(t, err)
		s.set(func() { s.tag = `W/"v3"` })
		read(t, open(t, local(t, cached), s.URL+"/x"), s.body)
		after, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, after, len(before))
	})
	t.Run("limit", func(t *testing.T) {
		s.set(func() { s.tag = `"v4"` })
		small := func(o *Options) { o.CacheDir, o.DiskCache = dir, 4<<20 }
		for _, name := range []string{"/a", "/b", "/c"} {
			c := local(t, small)
			o, err := c.Open(t.Context(), s.URL+name)
			require.NoError(t, err)
			read(t, o, s.body)
			require.NoError(t, o.Close())
			time.Sleep(20 * time.Millisecond) // the oldest version is the one with the oldest time
		}
		require.NoError(t, newDisk(dir, 4<<20, nil).makeRoom())
		files, err := filepath.Glob(dir + "/*" + dataSuffix)
		require.NoError(t, err)
		require.Len(t, files, 1)
		before := s.requests.Load()
		read(t, open(t, local(t, small), s.URL+"/c"), s.body)
		require.Equal(t, int64(1), s.requests.Load()-before, "the last version stays")
	})
	t.Run("directory cannot be created", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		_, err := local(t, func(o *Options) { o.CacheDir = file }).Open(t.Context(), s.URL+"/x")
		require.ErrorContains(t, err, "cache directory")
	})
}
