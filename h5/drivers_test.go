package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// withDriver returns the default file access with another driver.
func withDriver(d h5.Driver) *h5.FileAccess {
	a := h5.DefaultFileAccess()
	a.Driver = d
	return &a
}

// createWith creates a file with one dataset of 1000 numbers.
func createWith(t testing.TB, path string, a *h5.FileAccess) {
	t.Helper()
	o := h5.CreateOptions{}
	o.Access = a
	f, err := h5.Create(path, &o)
	require.NoError(t, err)
	fillFile(t, f)
	require.NoError(t, f.Close())
}

func fillFile(t testing.TB, f *h5.File) {
	t.Helper()
	d, err := f.Root().CreateDataset("g/d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(1000), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, thousand(), region([]int64{0}, []int64{1000})))
}

func thousand() []int32 {
	v := make([]int32, 1000)
	for i := range v {
		v[i] = int32(i * i)
	}
	return v
}

func requireThousand(t testing.TB, f *h5.File) {
	t.Helper()
	d, err := f.Root().OpenDataset("g/d")
	require.NoError(t, err)
	got, err := h5value.ReadAll[int32](d)
	require.NoError(t, err)
	require.Equal(t, thousand(), got)
}

// TestDrivers checks that every driver writes a file, is reported by Access, and reads the file
// again.
func TestDrivers(t *testing.T) {
	multi := h5.DefaultMulti()
	multi.Map[h5.LocalHeaps-1] = h5.BTrees
	multi.Names[h5.RawData-1] = "%s.data"
	split := h5.DefaultMulti()
	for i := range split.Map {
		split.Map[i] = h5.Superblock
	}
	split.Map[h5.RawData-1], split.Map[h5.GlobalHeaps-1] = h5.RawData, h5.RawData
	for _, tt := range []struct {
		name  string
		d     h5.Driver
		path  string
		files []string // files that must exist afterwards
		check func(t *testing.T, got h5.Driver)
	}{
		{"default", nil, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) { require.Equal(t, h5.Sec2{}, got) }},
		{"sec2", h5.Sec2{}, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) { require.Equal(t, h5.Sec2{}, got) }},
		{"stdio", h5.Stdio{}, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) { require.Equal(t, h5.Stdio{}, got) }},
		{"core", h5.Core{Increment: 4096, Backing: true, PageSize: 512}, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) {
			require.Equal(t, h5.Core{Increment: 4096, Backing: true, PageSize: 512}, got)
		}},
		{"log", h5.Log{Path: filepath.Join(t.TempDir(), "log"), Flags: h5.LogAll, Buffer: 1 << 16}, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) {
			require.Equal(t, h5.OtherDriver{Name: "log"}, got, "the library does not report the options of a log")
		}},
		{"family", h5.Family{MemberSize: 2048}, "x%03d.h5", []string{"x000.h5", "x001.h5", "x002.h5"}, func(t *testing.T, got h5.Driver) {
			require.Equal(t, h5.Family{MemberSize: 2048}, got)
		}},
		{"split", h5.Split{Meta: ".meta", Raw: "%s.raw"}, "x", []string{"x.meta", "x.raw"}, func(t *testing.T, got h5.Driver) {
			m, ok := got.(h5.Multi)
			require.True(t, ok)
			require.Equal(t, "%s.meta", m.Names[h5.Superblock-1])
			require.Equal(t, "%s.raw", m.Names[h5.RawData-1])
			require.Equal(t, split.Map, m.Map)
		}},
		{"multi", multi, "x", []string{"x-b.h5", "x-o.h5", "x-s.h5", "x.data"}, func(t *testing.T, got h5.Driver) {
			m, ok := got.(h5.Multi)
			require.True(t, ok)
			require.Equal(t, multi.Map, m.Map)
			require.Equal(t, multi.Addrs[h5.RawData-1], m.Addrs[h5.RawData-1])
			require.Equal(t, "%s.data", m.Names[h5.RawData-1])
		}},
		{"direct", h5.Direct{Alignment: 4096, Block: 4096, Copy: 16 << 20}, "x.h5", []string{"x.h5"}, func(t *testing.T, got h5.Driver) {
			require.Equal(t, h5.Direct{Alignment: 4096, Block: 4096, Copy: 16 << 20}, got)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, tt.path)
			o := h5.CreateOptions{}
			o.Access = withDriver(tt.d)
			f, err := h5.Create(path, &o)
			if tt.name == "direct" && err != nil {
				// The linked libhdf5 or the file system may not support the driver.
				var e *h5.Error
				require.ErrorAs(t, err, &e)
				require.True(t, errors.Is(err, errors.ErrUnsupported) || e.Errno != 0, "%+v", err)
				return
			}
			require.NoError(t, err)
			fillFile(t, f)
			require.NoError(t, f.Close())
			entries, err := filepath.Glob(filepath.Join(dir, "x*"))
			require.NoError(t, err)
			for i := range entries {
				entries[i] = filepath.Base(entries[i])
			}
			require.Subset(t, entries, tt.files)

			open := h5.OpenOptions{}
			open.Access = o.Access
			f, err = h5.OpenWith(path, &open)
			require.NoError(t, err)
			requireThousand(t, f)
			a, low, high, err := f.Access()
			require.NoError(t, err)
			require.Equal(t, h5.Earliest, low)
			require.Greater(t, high, h5.V112)
			tt.check(t, a.Driver)
			require.NoError(t, f.Close())
			require.NoError(t, h5.Delete(path, o.Access))
			for _, name := range tt.files {
				require.NoFileExists(t, filepath.Join(dir, name))
			}
		})
	}
}

// TestDriver_fileSets checks that the first member of a file set opens the set for every version of
// the superblock, and that an error names a missing member.
func TestDriver_fileSets(t *testing.T) {
	multi := h5.DefaultMulti()
	multi.Names[h5.RawData-1] = "%s.data"
	multi.Names[h5.Superblock-1] = "%s.first"
	for _, low := range []h5.LibVer{h5.Earliest, h5.LatestFormat} {
		for _, tt := range []struct {
			name, path, first, other string
			d                        h5.Driver
		}{
			{"family", "100%%-%d.h5", "100%-0.h5", "100%-1.h5", h5.Family{MemberSize: 1024}},
			{"padded family", "x-%05d", "x-00000", "x-00003", h5.Family{MemberSize: 1024}},
			{"multi", "y", "y.first", "y.data", multi},
			{"multi as the library names it", "w", "w-s.h5", "w-r.h5", h5.DefaultMulti()},
			{"split", "z", "z.meta", "z.raw", h5.Split{}},
		} {
			t.Run(fmt.Sprintf("%s from %d", tt.name, low), func(t *testing.T) {
				dir := t.TempDir()
				at := func(name string) string { return filepath.Join(dir, name) }
				o := h5.CreateOptions{}
				o.Access, o.Low = withDriver(tt.d), low
				f, err := h5.Create(at(tt.path), &o)
				require.NoError(t, err)
				fillFile(t, f)
				require.NoError(t, f.Close())

				f, err = h5.Open(at(tt.first), h5.ReadWrite)
				if tt.name == "multi" && low != h5.Earliest {
					// The settings of the set are in another member of unknown name.
					require.ErrorIs(t, err, h5.ErrParam)
					require.ErrorIs(t, err, errors.ErrUnsupported)
					require.ErrorContains(t, err, at(tt.first))
					require.ErrorContains(t, err, "OpenWith takes a Multi")
					open := h5.OpenOptions{}
					open.Access = o.Access
					f, err := h5.OpenWith(at(tt.path), &open)
					require.NoError(t, err)
					requireThousand(t, f)
					require.NoError(t, f.Close())
					return
				}
				require.NoError(t, err)
				requireThousand(t, f)
				require.Equal(t, at(tt.path), f.Path())
				require.NoError(t, f.Close())

				require.NoError(t, os.Remove(at(tt.other)))
				_, err = h5.Open(at(tt.first), h5.ReadOnly)
				require.ErrorIs(t, err, h5.ErrNotFound)
				require.ErrorContains(t, err, "member "+at(tt.other))
				open := h5.OpenOptions{}
				open.Access = o.Access
				if m, ok := tt.d.(h5.Multi); ok {
					m.Relax = false
					open.Access = withDriver(m)
				}
				if tt.name == "split" {
					return // a split file relaxes the check, so only reads fail
				}
				_, err = h5.OpenWith(at(tt.path), &open)
				require.ErrorIs(t, err, h5.ErrNotFound)
				require.ErrorContains(t, err, "member "+at(tt.other))
			})
		}
	}
}

func TestDriver_invalid(t *testing.T) {
	multi := h5.DefaultMulti()
	multi.Map[2] = 7
	unnamed := h5.DefaultMulti()
	unnamed.Names[3] = "same for all"
	evil := h5.DefaultMulti()
	evil.Names[3] = "%s%n"
	for name, tt := range map[string]struct {
		d    h5.Driver
		path string
	}{
		"family without a number":  {h5.Family{MemberSize: 1024}, "x.h5"},
		"family with two":          {h5.Family{MemberSize: 1024}, "%d-%d"},
		"family with a string":     {h5.Family{MemberSize: 1024}, "%s"},
		"family with a long one":   {h5.Family{MemberSize: 1024}, "%99999d"},
		"family with an open verb": {h5.Family{MemberSize: 1024}, "%0"},
		"negative member":          {h5.Family{MemberSize: -1}, "%d"},
		"map":                      {multi, "x"},
		"name":                     {unnamed, "x"},
		"verb":                     {evil, "x"},
		"split":                    {h5.Split{Meta: "%d"}, "x"},
		"core":                     {h5.Core{Increment: -1}, "x"},
		"log":                      {h5.Log{}, "x"},
		"log flags":                {h5.Log{Path: "l", Flags: 1 << 63}, "x"},
		"direct":                   {h5.Direct{Alignment: 3, Block: 3, Copy: 3}, "x"},
		"direct block":             {h5.Direct{Alignment: 512, Block: 700, Copy: 1400}, "x"},
		"onion":                    {h5.OtherDriver{Name: "onion"}, "x"},
		"splitter":                 {h5.OtherDriver{Name: "splitter"}, "x"},
		"mirror":                   {h5.OtherDriver{Name: "mirror"}, "x"},
		"subfiling":                {h5.OtherDriver{Name: "subfiling"}, "x"},
		"mpio":                     {h5.OtherDriver{Name: "mpio"}, "x"},
		"ros3":                     {h5.OtherDriver{Name: "ros3"}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := h5.CreateOptions{}
			o.Access = withDriver(tt.d)
			_, err := h5.Create(filepath.Join(dir, tt.path), &o)
			require.ErrorIs(t, err, h5.ErrParam)
			if _, other := tt.d.(h5.OtherDriver); other {
				require.ErrorIs(t, err, errors.ErrUnsupported)
			}
			open := h5.OpenOptions{}
			open.Access = o.Access
			_, err = h5.OpenWith(filepath.Join(dir, tt.path), &open)
			require.ErrorIs(t, err, h5.ErrParam)
			require.ErrorIs(t, h5.Delete(filepath.Join(dir, tt.path), o.Access), h5.ErrParam)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// TestDriver_images checks that the image of an open file is a valid file for every version of the
// superblock, and that other software can open it.
func TestDriver_images(t *testing.T) {
	for version, low := range map[int]h5.LibVer{0: h5.Earliest, 2: h5.V18, 3: h5.V110} {
		for _, block := range []int64{0, 512} {
			o := h5.CreateOptions{}
			o.Low = low
			creation := h5.DefaultFileCreation()
			creation.UserBlock = block
			o.Creation = &creation
			f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &o)
			require.NoError(t, err)
			fillFile(t, f)
			image, err := f.Image()
			require.NoError(t, err)
			require.NoError(t, f.Close())
			at := bytes.Index(image, []byte("\x89HDF\r\n\x1a\n"))
			require.EqualValues(t, version, image[at+8])
			again, err := h5.OpenImage(image, h5.ReadOnly)
			require.NoError(t, err, "version %d, user block of %d bytes", version, block)
			requireThousand(t, again)
			require.NoError(t, again.Close())
			path := filepath.Join(t.TempDir(), "image.h5")
			require.NoError(t, os.WriteFile(path, image, 0o644))
			out, err := exec.Command(testenv.Tool(t, "h5ls"), "-r", path).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
}

func TestImages(t *testing.T) {
	f, err := h5.CreateImage(nil)
	require.NoError(t, err)
	fillFile(t, f)
	image, err := f.Image()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoFileExists(t, f.Path())

	a, err := h5.OpenImage(image, h5.ReadOnly)
	require.NoError(t, err)
	b, err := h5.OpenImage(image, h5.ReadWrite)
	require.NoError(t, err)
	requireThousand(t, a)
	before := bytes.Clone(image)
	_, err = b.Root().CreateGroup("new")
	require.NoError(t, err)
	changed, err := b.Image()
	require.NoError(t, err)
	require.Equal(t, before, image, "the caller's image stays")
	_, err = a.Root().OpenGroup("new")
	require.ErrorIs(t, err, h5.ErrNotFound, "two images are two files")
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())

	c, err := h5.OpenImage(changed, h5.ReadOnly)
	require.NoError(t, err)
	_, err = c.Root().OpenGroup("new")
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = c.Image()
	require.ErrorIs(t, err, h5.ErrClosed)

	for name, bad := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "zeros": make([]byte, 4096)} {
		_, err := h5.OpenImage(bad, h5.ReadOnly)
		require.ErrorIs(t, err, h5.ErrNotHDF5, name)
	}
	_, err = h5.OpenImage(image[:len(image)/2], h5.ReadOnly)
	require.ErrorIs(t, err, h5.ErrTruncated)
	_, err = h5.OpenImage(image, h5.Mode(9))
	require.ErrorIs(t, err, h5.ErrParam)

	// A file on disk also has an image.
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	got, err := f.Image()
	require.NoError(t, err)
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.NoError(t, f.Close())
}

// A countingReader counts the calls of ReadAt and the requested bytes.
type countingReader struct {
	r     io.ReaderAt
	calls int
	bytes int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	c.bytes += len(p)
	return c.r.ReadAt(p, off)
}

func TestReaderAt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, o := range []*h5.ReaderOptions{nil, {BlockSize: 1, Blocks: 1}, {BlockSize: 7, Blocks: 3}, {BlockSize: 512, Blocks: 2}, {BlockSize: 1 << 20, Blocks: 1}} {
		f, err := h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), o)
		require.NoError(t, err)
		requireThousand(t, f)
		_, err = f.Root().CreateGroup("x")
		require.ErrorIs(t, err, h5.ErrReadOnly)
		size, err := f.Size()
		require.NoError(t, err)
		require.EqualValues(t, len(b), size)
		a, _, _, err := f.Access()
		require.NoError(t, err)
		require.Equal(t, h5.OtherDriver{Name: "reader"}, a.Driver)
		require.NoError(t, f.Close())
		require.ErrorIs(t, f.Close(), h5.ErrClosed)
	}
	link, err := h5.CreateImage(nil)
	require.NoError(t, err)
	require.NoError(t, link.Root().LinkExternal("x", path, "/g"))
	linked, err := link.Image()
	require.NoError(t, err)
	require.NoError(t, link.Close())
	reader, err := h5.OpenReaderAt(bytes.NewReader(linked), int64(len(linked)), nil)
	require.NoError(t, err)
	_, err = reader.Root().OpenGroup("x")
	require.ErrorIs(t, err, h5.ErrNotFound, "a link out of a reader leads nowhere")
	require.NoError(t, reader.Close())

	c := &countingReader{r: bytes.NewReader(b)}
	f, err := h5.OpenReaderAt(c, int64(len(b)), nil)
	require.NoError(t, err)
	requireThousand(t, f)
	require.NoError(t, f.Close())
	require.Equal(t, 1, c.calls, "the file fits a block")
	require.Equal(t, len(b), c.bytes)
}

// A failingReader calls fail from the n-th call of ReadAt on.
type failingReader struct {
	r    io.ReaderAt
	left int
	fail func(p []byte) (int, error)
}

func (f *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if f.left--; f.left < 0 {
		return f.fail(p)
	}
	return f.r.ReadAt(p, off)
}

func TestReaderAt_Failure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	size := int64(len(b))
	boom := errors.New("boom")
	var other *h5.File
	for _, tt := range []struct {
		name string
		fail func(p []byte) (int, error)
		want error
		text string
	}{
		{"error", func([]byte) (int, error) { return 0, boom }, boom, "bytes at offset"},
		{"panic", func([]byte) (int, error) { panic("ouch") }, nil, "panic in a filter or driver: ouch"},
		{"short", func(p []byte) (int, error) { return len(p) - 1, io.EOF }, h5.ErrTruncated, fmt.Sprintf("of a file of %d bytes", size)},
		{"short without an error", func(p []byte) (int, error) { return 0, nil }, h5.ErrTruncated, "0 of"},
		{"reentrant", func([]byte) (int, error) { return 0, other.Flush() }, h5.ErrReentrant, "flush file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other = newFile(t)
			for calls := 0; ; calls++ {
				r := &failingReader{bytes.NewReader(b), calls, tt.fail}
				err := readByDriver(r, size)
				if r.left >= 0 {
					require.NoError(t, err)
					require.Greater(t, calls, 10, "reads were made to fail one after the other")
					break
				}
				require.Error(t, err, "call %d", calls)
				if tt.want != nil {
					require.ErrorIs(t, err, tt.want, "call %d", calls)
				}
				require.ErrorContains(t, err, tt.text)
			}
			require.NoError(t, other.Flush(), "the lock is free again")
		})
	}
	_, err = h5.OpenReaderAt(nil, 0, nil)
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.OpenReaderAt(bytes.NewReader(b), -1, nil)
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.OpenReaderAt(bytes.NewReader(b), size, &h5.ReaderOptions{BlockSize: -1})
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.OpenReaderAt(bytes.NewReader(b), size, &h5.ReaderOptions{Blocks: -1})
	require.ErrorIs(t, err, h5.ErrParam)
	_, err = h5.OpenReaderAt(strings.NewReader(""), 0, nil)
	require.ErrorIs(t, err, h5.ErrNotHDF5)
	_, err = h5.OpenReaderAt(bytes.NewReader(b), size-1, nil)
	require.ErrorIs(t, err, h5.ErrTruncated)
}

func readByDriver(r io.ReaderAt, size int64) (err error) {
	f, err := h5.OpenReaderAt(r, size, &h5.ReaderOptions{BlockSize: 64, Blocks: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	d, err := f.Root().OpenDataset("g/d")
	if err != nil {
		return err
	}
	_, err = h5value.ReadAll[int32](d)
	return err
}

// TestReentrant checks that every function returns ErrReentrant if a driver calls it, and that
// WithLock panics.
func TestReentrant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	createWith(t, path, nil)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f := newFile(t)
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	one := region([]int64{0}, []int64{1})
	errs := map[string]error{}
	err = readByDriver(&failingReader{bytes.NewReader(b), 3, func([]byte) (int, error) {
		_, errs["open"] = h5.Open(path, h5.ReadOnly)
		_, errs["is"] = h5.IsHDF5(path)
		_, errs["ids"] = h5.OpenIDs()
		_, errs["filter"] = h5.FilterAvailable(1)
		_, errs["version"] = h5.Version()
		_, errs["image"] = h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		errs["read"] = h5value.Read(d, make([]int32, 1), one)
		errs["write"] = h5value.Write(d, make([]int32, 1), one)
		errs["close"] = f.Close()
		errs["type"] = h5value.Bool().Validate()
		h5.WithLock(func() { t.Error("ran") })
		return 0, nil
	}}, int64(len(b)))
	require.ErrorContains(t, err, h5.ErrReentrant.Error())
	require.Len(t, errs, 10)
	for name, err := range errs {
		require.ErrorIs(t, err, h5.ErrReentrant, name)
	}
	require.NoError(t, h5value.Write(d, []int32{1}, one))
	require.NoError(t, f.Close())
}
