// Tests of file structures that libhdf5 never writes by default, or only in very large files. Each
// test file is a file of libhdf5 with a few bytes changed, and libhdf5 must read the same content
// from it.

package h5file_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// typesOfVersion returns a file with a committed datatype of each class. All datatypes and their
// base and member types have the same version. libhdf5 writes numbers and strings as version 1 with
// any bounds, but reads them in every version.
func typesOfVersion(t testing.TB, version byte) []byte {
	t.Helper()
	low := [...]h5.LibVer{1: h5.Earliest, 2: h5.Earliest, 3: h5.V18, 4: h5.V114}[version]
	i2, i4 := h5.Int(2, h5.LittleEndian), h5.Int(4, h5.BigEndian)
	types := append(allTypes(),
		h5.Datatype{Class: h5.Time, Size: 8, Order: h5.BigEndian, Precision: 64},
		h5.Datatype{Class: h5.Enum, Size: 2, Base: &i2, Members: []h5.Member{{Name: "red", Value: 0}, {Name: "blue", Value: 7}}},
		h5.Datatype{Class: h5.Sequence, Size: 16, Base: &i2},
		h5.Datatype{Class: h5.Compound, Size: 8, Members: []h5.Member{{Name: "without", Type: &i4}, {Name: "an array", Offset: 4, Type: &i2}}},
		h5.ReferenceType(h5.ObjectReference), h5.ReferenceType(h5.RegionReference),
	)
	if version == 4 {
		types = append(types, h5.ReferenceType(h5.StandardReference))
	}
	file := filepath.Join(t.TempDir(), "types.h5")
	f, err := h5.Create(file, &h5.CreateOptions{Low: low, High: h5.V114})
	require.NoError(t, err)
	for i, x := range types {
		c, err := f.Root().CommitDatatype(fmt.Sprint(i), x)
		require.NoError(t, err, x)
		require.NoError(t, h5value.WriteAttr(c, "unit", []string{"m"}))
		require.NoError(t, c.Close())
	}
	require.NoError(t, f.Close())
	b := load(t, file)
	for _, x := range fields(describe(b), "", "class and version") {
		switch class := h5file.Class(b[x.Offset] & 0xF); {
		case class == h5file.CompoundClass, version > 2 && (class == h5file.EnumClass || class == h5file.ArrayClass):
			// Other versions encode the members differently.
		default:
			b[x.Offset] = version<<4 | byte(class)
		}
	}
	return repaired(b)
}

// TestDatatypeVersions checks that this package and libhdf5 read the same datatypes of all classes
// in versions 1 to 4.
func TestDatatypeVersions(t *testing.T) {
	for version := byte(1); version <= 4; version++ {
		b := typesOfVersion(t, version)
		f := mustOpen(t, b)
		require.NoError(t, f.Check(everything()), version)
		require.Empty(t, complaint(describe(b)))
		seen := map[h5file.Class]bool{}
		for e, err := range f.Walk() {
			require.NoError(t, err, e.Path)
			if x := e.Object.Datatype(); x != nil && x.Version == version {
				seen[x.Class] = true
			}
		}
		require.Len(t, seen, 11, "classes of version %d: %v", version, seen)
		count := map[string]int{}
		opened, refused := compareFile(t, writeTemp(t, b), count)
		require.True(t, opened)
		require.Zero(t, refused)
		require.GreaterOrEqual(t, count["types"], 17)
	}
}

// emptyGroup returns a file with an empty root group. Its object header stores its size in 1, 2, 4
// or 8 bytes. libhdf5 itself always uses the smallest possible size.
func emptyGroup(sizeBytes int) []byte {
	undefined := bytes.Repeat([]byte{0xFF}, 8)
	b := append([]byte(h5file.Signature), 2, 8, 8, 0)
	b = append(append(b, make([]byte, 8)...), undefined...)
	const superblock = 48
	messages := append([]byte{byte(h5file.LinkInfoType), 18, 0, 0, 0, 0}, append(undefined, undefined...)...)
	messages = append(messages, byte(h5file.GroupInfoType), 2, 0, 0, 0, 0)
	header := append([]byte("OHDR\x02"), []byte{1: 0, 2: 1, 4: 2, 8: 3}[sizeBytes])
	header = append(header, binary.LittleEndian.AppendUint64(nil, uint64(len(messages)))[:sizeBytes]...)
	header = append(append(header, messages...), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(superblock+len(header)))
	b = binary.LittleEndian.AppendUint64(b, superblock)
	return repaired(append(append(b, 0, 0, 0, 0), header...))
}

func TestHeaderSizes(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8} {
		b := emptyGroup(n)
		require.NoError(t, mustOpen(t, b).Check(everything()), n)
		require.Empty(t, complaint(describe(b)), n)
		opened, refused := compareFile(t, writeTemp(t, b), map[string]int{})
		require.True(t, opened, n)
		require.Zero(t, refused, n)
	}
}

// splitDriver returns the first member of a file of the split driver. Its driver information is in
// a message of the superblock extension, as in superblocks 2 and 3.
func splitDriver(t testing.TB) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "set")
	access := h5.DefaultFileAccess()
	access.Driver = h5.Split{Meta: ".meta", Raw: ".raw"}
	f, err := h5.Create(name, &h5.CreateOptions{Low: h5.V18, High: h5.V114, Access: &access})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return load(t, name+".meta")
}

func TestDriverMessages(t *testing.T) {
	b := splitDriver(t)
	f := mustOpen(t, b)
	require.NoError(t, f.Damage())
	require.GreaterOrEqual(t, f.Superblock().Version, uint8(2))
	o, err := f.Object(f.Superblock().Extension)
	require.NoError(t, err)
	require.NotNil(t, o.Message(h5file.DriverInfoType))
	require.Equal(t, "NCSAmult", f.Driver().ID)
	require.Len(t, f.Driver().Members, 2)
	require.Equal(t, []string{"%s.meta", "%s.raw"}, []string{f.Driver().Members[0].Name, f.Driver().Members[1].Name})
	require.ErrorIs(t, f.Check(everything()), format.ErrUnsupported)
}

// ignorable returns HDF5's tbogus.h5 without the messages that make their objects unreadable.
func ignorable(t *testing.T) []byte {
	t.Helper()
	b := load(t, filepath.Join(testenv.Directory(t, testenv.HDF5Source), "test", "testfiles", "tbogus.h5"))
	for e := range mustOpen(t, b).Walk() {
		for _, m := range e.Object.Messages {
			if !m.Type.Known() && m.Flags&h5file.FailIfUnknown != 0 {
				require.EqualValues(t, 1, e.Object.Version, "before the content stand flags and 3 bytes")
				b[m.Offset-4] = byte(m.Flags &^ h5file.FailIfUnknown)
			}
		}
	}
	return b
}

// unknown returns the flags of the unknown messages of a file, by object and type.
func unknown(t *testing.T, b []byte) map[string]h5file.MessageFlags {
	t.Helper()
	all := map[string]h5file.MessageFlags{}
	for e, err := range mustOpen(t, b).Walk() {
		require.NoError(t, err)
		for _, m := range e.Object.Messages {
			if !m.Type.Known() {
				all[fmt.Sprintf("%s %d", e.Path, m.Type)] = m.Flags
			}
		}
	}
	return all
}

// TestForms_unknownMessages checks the flags of unknown messages. This package and libhdf5 must
// reject a message with the flag "fail on write" if the file is opened for writing, and ignore it
// otherwise. When libhdf5 changes an object with a "mark if unknown" message, it marks the message,
// and this package must read the mark.
func TestForms_unknownMessages(t *testing.T) {
	b := ignorable(t)
	f := mustOpen(t, b)
	require.NoError(t, f.Check(h5file.Policy{}))
	err := f.Check(h5file.Policy{Write: true})
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, "when writing")

	file := writeTemp(t, b)
	before := unknown(t, b)
	marked, forbidden := 0, 0
	for _, mode := range []h5.Mode{h5.ReadOnly, h5.ReadWrite} {
		f, err := h5.Open(file, mode)
		require.NoError(t, err)
		for key, flags := range before {
			path, _, _ := strings.Cut(key, " ")
			d, err := f.Root().OpenDataset(path)
			if mode == h5.ReadWrite && flags&h5file.FailWriteIfUnknown != 0 {
				require.Error(t, err, path)
				forbidden++
				continue
			}
			require.NoError(t, err, path)
			if mode == h5.ReadWrite {
				require.NoError(t, h5value.WriteAttr(d, "changed", []string{"yes"}))
			}
			require.NoError(t, d.Close())
		}
		require.NoError(t, f.Close())
	}
	after := load(t, file)
	for key, flags := range unknown(t, after) {
		require.Equal(t, before[key]&h5file.MarkIfUnknown != 0, flags&h5file.WasUnknown != 0, "%s: %s", key, flags)
		if flags&h5file.WasUnknown != 0 {
			marked++
		}
	}
	require.Positive(t, marked)
	require.Positive(t, forbidden)
	require.NoError(t, mustOpen(t, after).Check(h5file.Policy{}))
	require.Empty(t, complaint(describe(after)))
}

// counting counts the bytes that are read from a reader.
type counting struct {
	*bytes.Reader
	n *int64
}

func (c counting) ReadAt(b []byte, at int64) (int, error) {
	*c.n += int64(len(b))
	return c.Reader.ReadAt(b, at)
}

// TestLinear checks that the bytes read grow linearly with the file, for links and attributes in
// heaps and for chunks in both kinds of B-tree. For example, a file with twice as many structures
// may cost only twice as many bytes.
func TestLinear(t *testing.T) {
	for _, low := range []h5.LibVer{h5.Earliest, h5.V114} {
		var perByte []float64
		for _, n := range []int{250, 1000} {
			file := filepath.Join(t.TempDir(), "many.h5")
			f, err := h5.Create(file, &h5.CreateOptions{Low: low, High: h5.V114})
			require.NoError(t, err)
			for i := range n {
				require.NoError(t, f.Root().LinkSoft(fmt.Sprintf("link %d", i), "/target"))
			}
			d, err := f.Root().CreateDataset("d", h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(int64(n)), &h5.DatasetOptions{ChunkShape: []int64{1}})
			require.NoError(t, err)
			require.NoError(t, d.WriteRegion(make([]byte, n), h5.Uint(1, h5.NativeOrder), h5.SimpleSpace(int64(n)).All()))
			require.NoError(t, d.Close())
			require.NoError(t, f.Close())
			b := load(t, file)
			var read int64
			x, err := h5file.Open(counting{bytes.NewReader(b), &read}, int64(len(b)), nil)
			require.NoError(t, err)
			require.NoError(t, x.Check(everything()))
			perByte = append(perByte, float64(read)/float64(len(b)))
		}
		require.Less(t, perByte[1], 1.5*perByte[0], "bytes read for each of the file")
	}
}

// TestUserLinkPolicy checks that Check rejects user-defined links unless the policy allows them.
func TestUserLinkPolicy(t *testing.T) {
	b := load(t, filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/h5dump/testfiles/tudlink.h5"))
	p := everything()
	require.NoError(t, mustOpen(t, b).Check(p))
	p.UserLinks = false
	err := mustOpen(t, b).Check(p)
	require.ErrorIs(t, err, format.ErrUnsupported)
	require.ErrorContains(t, err, "no user-defined link")
}

// TestForms_wideSizes checks files with wide offsets and lengths. Package h5 rejects offsets of 32
// bytes because libhdf5 opens such files but does not support such large offsets. Wide lengths must
// be rejected everywhere.
func TestForms_wideSizes(t *testing.T) {
	_, err := h5.Open(writeTemp(t, widest()), h5.ReadOnly)
	require.ErrorIs(t, err, format.ErrUnsupported)
	if !strictAddresses {
		require.NoError(t, mustOpen(t, fixtures(t)["wide addresses"]).Check(everything()))
	}
	err = mustOpen(t, widest()).Check(everything())
	require.ErrorIs(t, err, format.ErrUnsupported, "wide lengths")
	require.ErrorContains(t, err, "size of offsets")
	for _, wide := range []byte{16, 32} {
		b := emptyGroup(1)
		b[10] = wide
		// Append bytes, because a longer superblock must lie inside the file.
		b = slices.Concat(b, make([]byte, 100))
		_, err := open(b)
		require.ErrorIs(t, err, format.ErrUnsupported)
		name := writeTemp(t, b)
		if f, err := h5.Open(name, h5.ReadOnly); err == nil {
			_, err = f.Root().Info()
			require.Error(t, err, "the library reads lengths of %d bytes", wide)
			require.NoError(t, f.Close())
		}
		require.NoError(t, os.Remove(name))
	}
}
