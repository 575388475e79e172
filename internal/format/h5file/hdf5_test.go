// Tests of the exported API of package h5file.

package h5file_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// object returns the object at a path.
func object(t testing.TB, f *h5file.File, path string) *h5file.Object {
	t.Helper()
	for e, err := range f.Walk() {
		if e.Path == path {
			require.NoError(t, err)
			require.NotNil(t, e.Object, path)
			return e.Object
		}
	}
	t.Fatalf("no %s", path)
	return nil
}

// TestLookup3 compares checksums with the values of Bob Jenkins' driver program and of HDF5's
// test/chksum.c.
func TestLookup3(t *testing.T) {
	require.EqualValues(t, 0xdeadbeef, h5file.Lookup3(nil))
	require.EqualValues(t, 0x17770551, h5file.Lookup3([]byte("Four score and seven years ago")))
}

func TestNotHDF5(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("no"), make([]byte, 4096)} {
		_, err := open(b)
		require.ErrorIs(t, err, format.ErrMagic)
	}
	_, err := open([]byte(h5file.Signature))
	require.ErrorIs(t, err, format.ErrTruncated)
	_, err = open([]byte(h5file.Signature + strings.Repeat("\x04", 100)))
	require.ErrorIs(t, err, format.ErrVersion)
}

// failing fails every read after a number of bytes.
type failing struct {
	io.ReaderAt
	after int64
}

var errDisk = errors.New("disk on fire")

func (f failing) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.after {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(b, at)
}

func TestReaderFails(t *testing.T) {
	b := fixtures(t)["latest"]
	_, err := h5file.Open(failing{bytes.NewReader(b), 0}, int64(len(b)), nil)
	require.ErrorIs(t, err, errDisk)
	f, err := h5file.Open(failing{bytes.NewReader(b), 60}, int64(len(b)), nil)
	require.NoError(t, err)
	_, err = f.Root()
	require.ErrorIs(t, err, errDisk)
	require.ErrorIs(t, f.Check(everything()), errDisk)
	_, err = f.Read(100, 8)
	require.ErrorIs(t, err, errDisk)
}

func TestRead(t *testing.T) {
	b := fixtures(t)["user block"]
	f := mustOpen(t, b)
	require.EqualValues(t, 1024, f.UserBlock())
	got, err := f.Read(0, 8)
	require.NoError(t, err)
	require.Equal(t, h5file.Signature, string(got))
	for _, bad := range []struct {
		a h5file.Addr
		n int64
	}{{0, int64(len(b))}, {h5file.Undefined, 1}, {h5file.Addr(len(b)), 1}, {0, -1}, {1 << 63, 1}} {
		_, err := f.Read(bad.a, bad.n)
		require.ErrorIs(t, err, format.ErrTruncated, bad)
	}
}

// TestWrongKind checks that methods for another kind of object return an error or no elements.
// For example, a dataset has no links.
func TestWrongKind(t *testing.T) {
	f := mustOpen(t, fixtures(t)["latest"])
	root, err := f.Root()
	require.NoError(t, err)
	n := 0
	for _, err := range root.Chunks() {
		require.ErrorIs(t, err, format.ErrUnsupported)
		n++
	}
	require.Equal(t, 1, n)
	m, err := root.Mappings()
	require.NoError(t, err)
	require.Empty(t, m)
	d := object(t, f, "/contiguous")
	for range d.Links() {
		t.Fatal("a dataset has no links")
	}
	_, err = f.Object(h5file.Undefined)
	require.ErrorIs(t, err, format.ErrTruncated)
	_, err = f.Object(1)
	require.Error(t, err)
	x, err := f.SharedIndexes()
	require.NoError(t, err)
	require.Empty(t, x)
}

// TestIterators_EarlyEnd checks that iterators stop when the loop ends early.
func TestIterators_EarlyEnd(t *testing.T) {
	for _, name := range []string{"earliest", "latest", "dense"} {
		f := mustOpen(t, fixtures(t)[name])
		for e, err := range f.Walk() {
			require.NoError(t, err)
			if e.Object == nil {
				continue // soft or external link
			}
			for range e.Object.Links() {
				break
			}
			for range e.Object.Attributes() {
				break
			}
			for range e.Object.Chunks() {
				break
			}
			if e.Object.Kind() == h5file.DatasetKind {
				break
			}
		}
	}
}

// TestPolicy checks that Check rejects each feature that a policy does not allow, and accepts it
// otherwise.
func TestPolicy(t *testing.T) {
	f := mustOpen(t, fixtures(t)["latest"])
	all := h5file.Policy{ExternalLinks: true, ExternalFiles: true, VirtualSources: true}
	require.NoError(t, f.Check(all))
	for what, p := range map[string]h5file.Policy{
		"no external link":     {ExternalFiles: true, VirtualSources: true},
		"elements in the file": {ExternalLinks: true, VirtualSources: true},
		"sources in the file":  {ExternalLinks: true, ExternalFiles: true},
	} {
		err := f.Check(p)
		require.ErrorIs(t, err, format.ErrUnsupported, what)
		require.ErrorContains(t, err, what)
	}
	small := all
	small.MaxBytes = 100
	require.ErrorIs(t, f.Check(small), format.ErrLimit)
	small.MaxBytes = 1 << 20
	require.NoError(t, f.Check(small))

	small = all
	small.MaxChunk = 1
	require.ErrorIs(t, f.Check(small), format.ErrLimit)
	small.MaxChunk = 1 << 20
	require.NoError(t, f.Check(small))
	small.Refused = []h5file.FilterID{h5file.Deflate}
	require.ErrorIs(t, f.Check(small), format.ErrUnsupported)

	decoded := 0
	all.Decode = func(l *h5file.Pipeline, mask uint32, b []byte, size uint64) ([]byte, error) {
		decoded++
		return l.Decode(mask, b, size)
	}
	require.NoError(t, f.Check(all))
	require.Positive(t, decoded, "strings behind filters are looked at")
	all.Decode = func(*h5file.Pipeline, uint32, []byte, uint64) ([]byte, error) { return nil, errDisk }
	require.ErrorIs(t, f.Check(all), errDisk)
}

// filledAs creates a dataset with a fill value of size bytes, for a type that package h5 has no
// fill values for. It creates the dataset with an opaque type and then replaces the datatype
// message.
func filledAs(t *testing.T, addresses, size int, message string) *h5file.File {
	t.Helper()
	const tag = "replaced by this"
	file := filepath.Join(t.TempDir(), "fill.h5")
	creation := h5.DefaultFileCreation()
	creation.OffsetSize = addresses
	f, err := h5.Create(file, &h5.CreateOptions{Creation: &creation, High: h5.LatestFormat})
	require.NoError(t, err)
	_, err = f.Root().CreateDataset("d", h5.OpaqueOf(size, tag), h5.SimpleSpace(2), &h5.DatasetOptions{Fill: make([]byte, size)})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	b := load(t, file)
	at := bytes.Index(b, []byte(tag)) - 8
	require.Positive(t, at)
	clear(b[at : at+8+len(tag)])
	require.LessOrEqual(t, len(message), 8+len(tag))
	copy(b[at:], message)
	return mustOpen(t, b)
}

// TestFill_memorySize checks that Check rejects a fill value whose memory form is larger than its
// stored form, because H5Dget_create_plist converts it in a buffer of the stored size.
func TestFill_memorySize(t *testing.T) {
	const (
		standard = "\x47\x12\x00\x00\x12\x00\x00\x00"
		// Compound with a reference member.
		inside   = "\x36\x01\x00\x00\x13\x00\x00\x00r\x00\x01" + standard
		array    = "\x3a\x00\x00\x00\x24\x00\x00\x00\x01\x02\x00\x00\x00" + standard
		object8  = "\x17\x00\x00\x00\x08\x00\x00\x00"
		object4  = "\x17\x00\x00\x00\x04\x00\x00\x00"
		region4  = "\x17\x01\x00\x00\x08\x00\x00\x00"
		sequence = "\x19\x00\x00\x00\x0c\x00\x00\x00" + int4
		text4    = "\x19\x01\x00\x00\x0c\x00\x00\x00" + "\x13\x00\x00\x00\x01\x00\x00\x00"
		text8    = "\x19\x01\x00\x00\x10\x00\x00\x00" + "\x13\x00\x00\x00\x01\x00\x00\x00"
	)
	for name, tt := range map[string]struct {
		addresses, size int
		message         string
		want            string // "" if Check accepts it
	}{
		"standard reference":       {8, 18, standard, "a fill value of 18 bytes that takes 64"},
		"in a compound":            {8, 19, inside, "a fill value of 19 bytes that takes 65"},
		"in an array":              {8, 36, array, "a fill value of 36 bytes that takes 128"},
		"object, short addresses":  {4, 4, object4, "a fill value of 4 bytes that takes 8"},
		"region, short addresses":  {4, 8, region4, "a fill value of 8 bytes that takes 12"},
		"numbers, short addresses": {4, 12, sequence, "a fill value of 12 bytes that takes 16"},
		"object":                   {8, 8, object8, ""},
		"text, short addresses":    {4, 12, text4, ""},
		"text":                     {8, 16, text8, ""},
	} {
		f := filledAs(t, tt.addresses, tt.size, tt.message)
		err := f.Check(h5file.Policy{})
		if tt.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, format.ErrUnsupported, name)
		require.ErrorContains(t, err, tt.want, name)
		// The file is not corrupt: this package reads the value and describes it without an error.
		o := object(t, f, "/d")
		require.Len(t, o.FillValue().Value, tt.size, name)
	}
}

// TestUnknownMessages checks that unknown messages are ignored, marked or rejected, depending on
// their flags.
func TestUnknownMessages(t *testing.T) {
	dir := testenv.Directory(t, testenv.HDF5Source)
	f := mustOpen(t, load(t, filepath.Join(dir, "test", "testfiles", "tbogus.h5")))
	seen := map[h5file.MessageFlags]int{}
	refused := map[string]bool{}
	for e, err := range f.Walk() {
		if err != nil {
			require.ErrorIs(t, err, format.ErrUnsupported, e.Path)
			refused[e.Path] = true
		}
		for _, m := range e.Object.Messages {
			if m.Type.Known() {
				continue
			}
			seen[m.Flags]++
			require.Equal(t, m.Flags&h5file.FailIfUnknown != 0, m.Err != nil, e.Path)
			if m.Type == h5file.BogusType {
				require.EqualValues(t, 0xdeadbeef, m.Body.(*h5file.Bogus).Value)
			} else {
				require.Nil(t, m.Body)
			}
		}
	}
	require.Equal(t, map[string]bool{"/Dataset3": true, "/group/Dataset3": true}, refused)
	for _, flag := range []h5file.MessageFlags{0, h5file.FailWriteIfUnknown, h5file.MarkIfUnknown, h5file.FailIfUnknown} {
		require.Positive(t, seen[flag], flag)
	}
	require.ErrorIs(t, f.Check(h5file.Policy{}), format.ErrUnsupported)
}

// TestSalvage checks that the intact parts of a corrupt file can be read.
func TestSalvage(t *testing.T) {
	b := bytes.Clone(fixtures(t)["earliest"])
	f := mustOpen(t, b)
	broken := object(t, f, "/contiguous")
	b[broken.Addr] = 99 // invalid version of an object header
	f = mustOpen(t, b)
	good, bad := 0, 0
	for e, err := range f.Walk() {
		if e.Path == "/contiguous" {
			require.ErrorIs(t, err, format.ErrVersion)
			require.NotNil(t, e.Object)
			require.Equal(t, h5file.UnknownKind, e.Object.Kind())
			bad++
			continue
		}
		require.NoError(t, err, e.Path)
		good++
	}
	require.Equal(t, 1, bad)
	require.Greater(t, good, 20)
	require.ErrorIs(t, f.Check(everything()), format.ErrVersion)

	// If the name of a link is corrupt, the group must report it and return the other links.
	g := object(t, f, "/old")
	before := 0
	for _, err := range g.Links() {
		require.NoError(t, err)
		before++
	}
	table := g.Message(h5file.SymbolTableType).Body.(*h5file.SymbolTable)
	node := bytes.Index(b[table.BTree:], []byte("SNOD")) + int(table.BTree)
	copy(b[node+8+40:], []byte{0xFF, 0xFF, 0xFF}) // name offset of the second link
	after, failed := 0, 0
	g, err := mustOpen(t, b).Object(g.Addr)
	require.NoError(t, err)
	for _, err := range g.Links() {
		if err != nil {
			require.ErrorIs(t, err, format.ErrCorrupt)
			failed++
			continue
		}
		after++
	}
	require.Equal(t, before-1, after)
	require.Equal(t, 1, failed)
}

// TestConcurrent checks that several goroutines can use one File.
func TestConcurrent(t *testing.T) {
	f := mustOpen(t, fixtures(t)["v18"])
	var want []string
	for e, err := range f.Walk() {
		require.NoError(t, err)
		want = append(want, e.Path)
	}
	root, err := f.Root()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			i := 0
			for e, err := range f.Walk() {
				if err != nil || e.Path != want[i] {
					t.Errorf("%s: %v, want %s", e.Path, err, want[i])
					return
				}
				i++
			}
			for range root.Attributes() {
				i++
			}
			if err := f.Check(everything()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestDescribeCovers checks that the fields of a structure are adjacent. Only heaps and indexes may
// have unused bytes at their end.
func TestDescribeCovers(t *testing.T) {
	for name, b := range fixtures(t) {
		tree := describe(b)
		require.EqualValues(t, len(b), tree.Length)
		for _, f := range tree.Fields {
			end := f.Offset
			for _, part := range f.Fields {
				if part.Length == 0 || part.Offset < end { // decoded field, or content of a block
					continue
				}
				if f.Name == "object header" || f.Name == "superblock" || strings.HasSuffix(f.Name, "header") {
					require.Equal(t, end, part.Offset, "%s: %s at %d: %s", name, f.Name, f.Offset, part.Name)
				}
				end = part.Offset + part.Length
			}
			require.LessOrEqual(t, end, f.Offset+f.Length, "%s: %s at %d", name, f.Name, f.Offset)
			if f.Name == "object header" {
				require.Equal(t, f.Offset+f.Length, end, "%s: %s at %d", name, f.Name, f.Offset)
			}
		}
	}
}

func TestDescribeObject(t *testing.T) {
	f := mustOpen(t, fixtures(t)["latest"])
	o := object(t, f, "/fixed filtered")
	field := f.DescribeObject(o.Addr)
	require.EqualValues(t, o.Addr, field.Offset)
	var text strings.Builder
	require.NoError(t, field.WriteText(&text))
	for _, want := range []string{"OHDR", "deflate", "shuffle, deflate, fletcher32", "chunks [4 5 2], fixed array", "signed integer, 16 bits in 2 bytes, LE", "[20 22 of 20 22]"} {
		require.Contains(t, text.String(), want)
	}
	require.NotEmpty(t, complaint(f.DescribeObject(1)))
}

// TestDecode checks that Decode reverses libhdf5's filters and rejects data that libhdf5 never
// writes.
func TestDecode(t *testing.T) {
	for _, name := range []string{"earliest", "latest"} {
		f := mustOpen(t, fixtures(t)[name])
		o := object(t, f, "/fixed filtered")
		for c, err := range o.Chunks() {
			require.NoError(t, err)
			raw, err := f.Read(c.Addr, int64(c.Size))
			require.NoError(t, err)
			b, err := o.Pipeline().Decode(c.Mask, raw, 40)
			require.NoError(t, err)
			require.Len(t, b, 40)
			first := uint16(c.Offset[0]*22 + c.Offset[1])
			require.Equal(t, []byte{byte(first), byte(first >> 8)}, b[:2])
			raw[len(raw)-1] ^= 1
			_, err = o.Pipeline().Decode(c.Mask, raw, 40)
			require.ErrorIs(t, err, format.ErrCorrupt)
			_, err = o.Pipeline().Decode(c.Mask, raw[:3], 40)
			require.ErrorIs(t, err, format.ErrCorrupt)
		}
	}
	_, err := (&h5file.Pipeline{Filters: []h5file.Filter{{ID: 32001}}}).Decode(0, []byte{1}, 1)
	require.ErrorIs(t, err, format.ErrUnsupported)
	b, err := (&h5file.Pipeline{Filters: []h5file.Filter{{ID: 32001}}}).Decode(1, []byte{1}, 1)
	require.NoError(t, err, "the filter was left out")
	require.Equal(t, []byte{1}, b)
}
