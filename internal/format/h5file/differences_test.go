// Tests of the differences between the HDF5 specification and libhdf5. This package follows
// libhdf5. Each row of docs/hdf5-differences.md names its test in the first column.

package h5file_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// fields returns all fields with a name, in every structure whose path contains structure.
func fields(tree format.Field, structure, name string) []format.Field {
	var all []format.Field
	for path, f := range tree.Walk() {
		if strings.Contains(path, structure) && f.Name == name {
			all = append(all, f)
		}
	}
	return all
}

// rows contains the test of each row.
var rows = map[string]func(t *testing.T){
	"FileSpaceType": func(t *testing.T) {
		f := mustOpen(t, fixtures(t)["paged"])
		o, err := f.Object(f.Superblock().Extension)
		require.NoError(t, err)
		require.EqualValues(t, 0x17, o.Message(h5file.FileSpaceInfoType).Type)
	},
	"FileSpaceVersions": func(t *testing.T) {
		s := mustOpen(t, fixtures(t)["paged"]).FileSpace()
		require.EqualValues(t, 1, s.Version)
		require.Equal(t, h5file.Paged, s.Strategy)
		require.Len(t, s.Managers, 12)
		// HDF5 1.9 wrote version 0. Its strategy 1 is strategy 0 of version 1, and it stores six
		// managers.
		b := binary.LittleEndian.AppendUint64([]byte{0, 1}, 7)
		for range 6 {
			b = append(b, bytes.Repeat([]byte{0xFF}, 8)...)
		}
		old := mustOpen(t, withMessage(t, h5file.FileSpaceInfoType, b)).FileSpace()
		require.Equal(t, &h5file.FileSpaceInfo{Strategy: h5file.FreeSpaceAndAggregators, Persist: true, Threshold: 7, PageSize: 4096, EOA: h5file.Undefined, Managers: slices.Repeat([]h5file.Addr{h5file.Undefined}, 6)}, old)
	},
	"FileSpaceForgotten": func(t *testing.T) {
		b := load(t, filepath.Join(testenv.Directory(t, testenv.HDF5Source), "test", "testfiles", "paged_nopersist.h5"))
		f := mustOpen(t, b)
		require.NoError(t, f.Damage())
		require.Nil(t, f.FileSpace())
	},
	"Superblock3": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["latest"])
		require.EqualValues(t, 3, mustOpen(t, b).Superblock().Version)
		b[11] = byte(h5file.WriteAccess | h5file.SWMRWrite)
		b = repaired(b)
		p := everything()
		require.NoError(t, mustOpen(t, b).Check(p))
		p.Write = true
		require.ErrorIs(t, mustOpen(t, b).Check(p), format.ErrUnsupported)
	},
	"ChunkRecords": func(t *testing.T) {
		types := map[string]bool{}
		for _, f := range fields(describe(fixtures(t)["latest"]), "v2 B-tree header", "type") {
			types[f.Value] = true
		}
		require.True(t, types["10"] && types["11"], types)
	},
	"Layout4": func(t *testing.T) {
		f := mustOpen(t, fixtures(t)["latest"])
		seen := map[h5file.IndexType]bool{}
		for e, err := range f.Walk() {
			require.NoError(t, err)
			if e.Object != nil && e.Object.Layout() != nil && e.Object.Layout().Class == h5file.Chunked {
				require.EqualValues(t, 4, e.Object.Layout().Version)
				seen[e.Object.Layout().Index] = true
			}
		}
		require.Len(t, seen, 5)
	},
	"HDF52": func(t *testing.T) {
		float := []byte{0x11, 0x20, 0x1f, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0}
		complex := func(bits, size byte) []byte { return append([]byte{0x5B, bits, 0, 0, size, 0, 0, 0}, float...) }
		for name, x := range map[string]struct {
			message h5file.MessageType
			content []byte
			want    error
		}{
			"layout 5":                {h5file.LayoutType, []byte{5, 1, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0}, nil},
			"layout 6":                {h5file.LayoutType, []byte{6, 1}, format.ErrVersion},
			"complex":                 {h5file.DatatypeType, complex(1, 8), nil},
			"complex of other size":   {h5file.DatatypeType, complex(1, 9), format.ErrCorrupt},
			"complex, polar":          {h5file.DatatypeType, complex(3, 8), format.ErrUnsupported},
			"complex, heterogeneous":  {h5file.DatatypeType, complex(0, 8), format.ErrUnsupported},
			"complex of integers":     {h5file.DatatypeType, []byte{0x5B, 1, 0, 0, 2, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0}, format.ErrCorrupt},
			"datatype 6":              {h5file.DatatypeType, []byte{0x6B, 0, 0, 0, 8, 0, 0, 0}, format.ErrVersion},
			"chunks of 4 GiB, layout": {h5file.LayoutType, []byte{5, 2, 0, 2, 8, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 2, 255, 255, 255, 255, 255, 255, 255, 255}, format.ErrLimit},
		} {
			f := mustOpen(t, withMessage(t, x.message, x.content))
			if x.want == nil {
				require.NoError(t, f.Damage(), name)
			} else {
				require.ErrorIs(t, f.Damage(), x.want, name)
			}
		}
	},
	"SectionTypes": func(t *testing.T) {
		types := map[string]bool{}
		for _, name := range []string{"free space", "paged", "dense"} {
			for _, f := range fields(describe(fixtures(t)[name]), "free-space section list", "section type") {
				types[f.Meaning] = true
			}
		}
		// Crafted contains the others.
		for _, want := range []string{"simple", "small", "large", "single", "first row"} {
			require.True(t, types[want], "%s: %v", want, types)
		}
	},
	"ExternalNames": func(t *testing.T) {
		files := object(t, mustOpen(t, fixtures(t)["earliest"]), "/external").ExternalFiles().Files
		require.Equal(t, "one.bin", files[0].Name)
		require.Equal(t, h5file.Unlimited, files[1].Size)
	},
	"LocalHeapEnd": func(t *testing.T) {
		next := fields(describe(fixtures(t)["earliest"]), "local heap", "offset of next free block")
		require.True(t, slices.ContainsFunc(next, func(f format.Field) bool { return f.Value == "1" }))
	},
	"SymbolNames": func(t *testing.T) {
		// If offsets and lengths differ in size, the length of the entry determines the size of its
		// name offset.
		b := bytes.Clone(fixtures(t)["mixed sizes"])
		f := mustOpen(t, b)
		require.Equal(t, 8, f.Superblock().OffsetSize)
		require.Equal(t, 4, f.Superblock().LengthSize)
		require.Contains(t, names(t, f), "/old")
	},
	"WideLengths": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["latest"])
		b[10] = 16
		_, err := open(b)
		require.ErrorIs(t, err, format.ErrUnsupported)
	},
	"WideAddresses": func(t *testing.T) {
		if !strictAddresses {
			f := mustOpen(t, fixtures(t)["wide addresses"])
			require.Equal(t, 16, f.Superblock().OffsetSize)
			require.Contains(t, names(t, f), "/attributes")
		}

		f := mustOpen(t, widest())
		require.NoError(t, f.Damage())
		require.Equal(t, 32, f.Superblock().OffsetSize)
		root, err := f.Root()
		require.NoError(t, err)
		require.Equal(t, h5file.GroupKind, root.Kind())
		b := widest()
		b[12+32+32+9] = 1 // above the low 8 bytes of the end of the file
		require.ErrorIs(t, mustOpen(t, repaired(b)).Damage(), format.ErrCorrupt)
	},
	"BaseAddress": func(t *testing.T) {
		// Prepend a user block to a file whose superblock has base address 0.
		b := append(make([]byte, 2048), fixtures(t)["latest"]...)
		f := mustOpen(t, b)
		require.EqualValues(t, 2048, f.UserBlock())
		require.EqualValues(t, 0, f.Superblock().Base)
		require.NoError(t, f.Check(everything()))
		opened, refused := compareFile(t, writeTemp(t, b), map[string]int{})
		require.True(t, opened)
		require.Zero(t, refused)
	},
	"ArrayVersion1": func(t *testing.T) {
		b := load(t, filepath.Join(testenv.Directory(t, testenv.Corpus), "caterva2", "ex-noattr.h5"))
		found := 0
		for e, err := range mustOpen(t, b).Walk() {
			require.NoError(t, err)
			if dt := e.Object.Datatype(); dt != nil && dt.Class == h5file.ArrayClass && dt.Version == 1 {
				found++
			}
		}
		require.Positive(t, found)
	},
	"GlobalHeapPadding": func(t *testing.T) {
		f := mustOpen(t, fixtures(t)["small sizes"])
		require.Equal(t, 4, f.Superblock().LengthSize)
		require.NotEmpty(t, fields(describe(fixtures(t)["small sizes"]), "global heap collection", "object data"))
	},
	"CacheImage": func(t *testing.T) {
		found := false
		for _, file := range findFiles(t, testenv.Directory(t, testenv.HDF5Source)) {
			if filepath.Base(file) != "h5clear_mdc_image.h5" {
				continue
			}
			found = true
			b := load(t, file)
			require.NotEmpty(t, fields(describe(b), "metadata cache image", "image"))
			require.NoError(t, mustOpen(t, b).Check(everything()), "the root group is in the image alone")
		}
		require.True(t, found)
	},
	"SharedHashes": func(t *testing.T) {
		require.Empty(t, complaint(describe(fixtures(t)["shared list"])), "hashes begin with the type")
	},
	"MessageCount": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["earliest"])
		f := mustOpen(t, b)
		require.EqualValues(t, 1, b[f.Superblock().Root])
		b[f.Superblock().Root+2]++ // one more message than the header contains
		require.NoError(t, mustOpen(t, b).Check(everything()))
		opened, _ := compareFile(t, writeTemp(t, b), map[string]int{})
		require.True(t, opened)
	},
	"DriverInfo": func(t *testing.T) {
		info := append([]byte("\x00NCSAfami\x08\x00"), 0, 16, 0, 0, 0, 0, 0, 0)
		f := mustOpen(t, withMessage(t, h5file.DriverInfoType, info))
		require.NoError(t, f.Damage())
		require.EqualValues(t, 4096, f.Driver().MemberSize)
	},
	"FreeSpaceIndex": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["earliest"])
		require.EqualValues(t, 0, b[8])
		binary.LittleEndian.PutUint64(b[32:], 800)
		require.ErrorIs(t, mustOpen(t, b).Damage(), format.ErrCorrupt)
		require.Contains(t, complaint(describe(b)), "free space info")
		_, err := h5.Open(writeTemp(t, b), h5.ReadOnly)
		require.Error(t, err, "the library opens it")
	},
	"ReferencePlaces": func(t *testing.T) {
		f := mustOpen(t, references(t, 100))
		o := object(t, f, "/object 2")
		raw, err := f.Read(o.Layout().Addr, int64(o.Datatype().Size))
		require.NoError(t, err)
		require.EqualValues(t, []byte{2, 0, 8}, raw[:3], "kind, flags, bytes of the token")
		require.EqualValues(t, object(t, f, "/target").Addr, binary.LittleEndian.Uint64(raw[3:]))
	},
	"ShortLengths": func(t *testing.T) {
		c := h5.DefaultFileCreation()
		c.OffsetSize, c.LengthSize, c.AttrPhase = 8, 2, h5.PhaseChange{}
		name := filepath.Join(t.TempDir(), "short.h5")
		f, err := h5.Create(name, &h5.CreateOptions{Low: h5.V114, High: h5.V114, Creation: &c})
		require.NoError(t, err)
		for _, a := range []string{"a", "b"} {
			err := f.Root().WriteAttribute(h5.Attribute{Name: a, Datatype: h5.Uint(1, h5.NativeOrder), Space: h5.ScalarSpace(), Data: []byte{1}})
			if strictHeaps {
				require.ErrorContains(t, err, "max. heap size too large for file")
				require.NoError(t, f.Close())
				return
			}
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		f, err = h5.Open(name, h5.ReadOnly)
		require.NoError(t, err)
		_, err = f.Root().ReadAttribute("a")
		require.Error(t, err, "the library reads it")
		require.NoError(t, f.Close())
		require.ErrorIs(t, mustOpen(t, load(t, name)).Check(everything()), format.ErrCorrupt)
	},
	"Cycles": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["deep trees"])
		for path, f := range describe(b).Walk() {
			if f.Name == "child address" && strings.Contains(path, "v1 B-tree node") && f.Value != "undefined" {
				first := f
				for _, other := range fields(describe(b), "v1 B-tree node", "child address") {
					if other.Offset > first.Offset && other.Offset < first.Offset+64 {
						copy(b[other.Offset:], b[first.Offset:first.Offset+8])
						requireStricter(t, b)
						return
					}
				}
			}
		}
		t.Fatal("no node with two children")
	},
	"Siblings": func(t *testing.T) {
		corrupt(t, "deep trees", "v1 B-tree node", "address of right sibling", func(b []byte) { binary.LittleEndian.PutUint64(b, 96) })
	},
	"KeyOrder": func(t *testing.T) {
		for node, field := range map[string]string{"symbol table node": "link name offset", "v1 B-tree node": "chunk offset"} {
			whole := fixtures(t)["deep trees"]
			seen := false
			for _, f := range fields(describe(whole), node, field) {
				b := bytes.Clone(whole)
				b[f.Offset] ^= 0x38
				err := mustOpen(t, b).Check(everything())
				if seen = err != nil && strings.Contains(err.Error(), "in order"); seen {
					require.ErrorIs(t, err, format.ErrCorrupt)
					break
				}
			}
			require.True(t, seen, node)
		}
	},
	"HeapNames": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["earliest"])
		for _, f := range fields(describe(b), "", "local heap data segment") {
			if f.Length > 8 {
				for i := f.Offset + 8; i < f.Offset+f.Length; i++ {
					b[i] = 'x'
				}
				requireStricter(t, b)
				return
			}
		}
		t.Fatal("no heap")
	},
	"SequenceSize":  func(t *testing.T) { badType(t, "\x19\x00\x00\x00\x14\x00\x00\x00"+int4) },
	"ReferenceSize": func(t *testing.T) { badType(t, "\x17\x00\x00\x00\x04\x00\x00\x00") },
	"ArraySize":     func(t *testing.T) { badType(t, "\x3A\x00\x00\x00\x09\x00\x00\x00\x01\x02\x00\x00\x00"+int4) },
	"LargeChunks": func(t *testing.T) {
		layout := "\x03\x02\x02" + strings.Repeat("\xFF", 8) + "\x00\x00\x00\x80\x04\x00\x00\x00"
		require.ErrorIs(t, mustOpen(t, withMessage(t, h5file.LayoutType, []byte(layout))).Damage(), format.ErrCorrupt)
	},
	"PlainChunkSize": func(t *testing.T) {
		whole := fixtures(t)["earliest"]
		for _, f := range fields(describe(whole), "v1 B-tree node", "size of chunk") {
			b := bytes.Clone(whole)
			b[f.Offset]--
			if err := mustOpen(t, b).Check(everything()); err != nil && strings.Contains(err.Error(), "without filters") {
				require.ErrorIs(t, err, format.ErrCorrupt)
				return
			}
		}
		t.Fatal("no chunk without filters")
	},
	"SingleChunk": func(t *testing.T) {
		whole := fixtures(t)["latest"]
		var size format.Field // first chunk size in the message
		tried := 0
		for _, f := range describe(whole).Walk() {
			switch {
			case f.Name == "dimensionality":
				size = format.Field{}
			case f.Name == "dimension size" && size.Name == "":
				size = f
			case f.Name == "chunk indexing type" && f.Meaning == h5file.SingleIndex.String():
				b := bytes.Clone(whole)
				b[size.Offset]-- // the dataset now has a second chunk
				require.ErrorContains(t, requireStricter(t, repaired(b)), "single chunk index")
				tried++
			}
		}
		require.Equal(t, 2, tried)
	},
	"ArrayReach": func(t *testing.T) {
		for _, v := range []uint64{1 << 31, 1<<63 - 1, 1<<64 - 1} {
			corrupt(t, "latest", "extensible array header", "max index set", func(b []byte) { binary.LittleEndian.PutUint64(b, v) })
		}
		// An array without an index block has no elements.
		b := bytes.Clone(fixtures(t)["latest"])
		at := fields(describe(b), "extensible array header", "index block address")[0].Offset
		copy(b[at:], bytes.Repeat([]byte{0xFF}, 8))
		requireStricter(t, repaired(b))
	},
	"FillSize": func(t *testing.T) {
		for _, x := range []struct {
			message string
			sound   bool
		}{
			{"\x02\x02\x02\x01\xfb\xff\xff\xff", false},
			{"\x01\x02\x02\x01\x00\x00\x00\x80", false},
			{"\x02\x02\x02\x01\xff\xff\xff\xff", true}, // no fill value
			{"\x02\x02\x02\x01\x00\x00\x00\x00", true}, // zeros
			{"\x03\x29\xfb\xff\xff\xff", false},        // size without its bytes
		} {
			err := mustOpen(t, withMessage(t, h5file.FillValueType, []byte(x.message))).Damage()
			if x.sound {
				require.NoError(t, err, "%q", x.message)
			} else {
				require.ErrorIs(t, err, format.ErrCorrupt, "%q", x.message)
			}
		}
		require.ErrorIs(t, mustOpen(t, withMessage(t, h5file.OldFillValueType, []byte("\xfb\xff\xff\xff"))).Damage(), format.ErrCorrupt)
	},
	"Dangling": func(t *testing.T) {
		b := bytes.Clone(fixtures(t)["earliest"])
		at := bytes.Index(b, []byte("GCOL\x01"))
		b[at+16] = 0xEE // index of the first object
		err := requireStricter(t, b)
		require.ErrorContains(t, err, "no object")
	},
	"RecordCounts": func(t *testing.T) {
		corrupt(t, "latest", "v2 B-tree header", "total number of records in B-tree", func(b []byte) { b[0]++ })
	},
	"ExtensibleOrder": func(t *testing.T) {
		f := mustOpen(t, fixtures(t)["latest"])
		seen := map[[2]uint64]bool{}
		for c, err := range object(t, f, "/growing last").Chunks() {
			require.NoError(t, err)
			b, err := f.Read(c.Addr, 2)
			require.NoError(t, err)
			require.EqualValues(t, c.Offset[0]*300+c.Offset[1], binary.LittleEndian.Uint16(b))
			seen[[2]uint64{c.Offset[0], c.Offset[1]}] = true
		}
		require.Len(t, seen, 3*60)
	},
}

const int4 = "\x10\x08\x00\x00\x04\x00\x00\x00\x00\x00\x20\x00"

// badType requires that a datatype is rejected as corrupt.
func badType(t *testing.T, message string) {
	t.Helper()
	require.ErrorIs(t, mustOpen(t, withMessage(t, h5file.DatatypeType, []byte(message))).Damage(), format.ErrCorrupt)
}

// corrupt changes the first field with a name in a fixture, and requires that Check rejects the
// file.
func corrupt(t *testing.T, fixture, structure, field string, change func(b []byte)) {
	t.Helper()
	b := bytes.Clone(fixtures(t)[fixture])
	all := fields(describe(b), structure, field)
	require.NotEmpty(t, all)
	change(b[all[0].Offset:])
	requireStricter(t, repaired(b))
}

// requireStricter requires that Check rejects the file and Describe reports an error.
func requireStricter(t *testing.T, b []byte) error {
	t.Helper()
	err := mustOpen(t, b).Check(everything())
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.NotEmpty(t, complaint(describe(b)))
	return err
}

// widest returns a file with an empty root group and addresses of 32 bytes, which package h5 cannot
// write.
func widest() []byte {
	address := func(b []byte, a uint64) []byte {
		return append(binary.LittleEndian.AppendUint64(b, a), make([]byte, 24)...)
	}
	undefined := bytes.Repeat([]byte{0xFF}, 32)
	b := append([]byte(h5file.Signature), 2, 32, 8, 0)
	b = append(address(b, 0), undefined...)
	const superblock, header = 12 + 4*32 + 4, 7 + 4 + 66 + 4
	b = address(address(b, superblock+header), superblock)
	b = append(b, 0, 0, 0, 0)
	b = append(b, "OHDR\x02\x00"...)
	b = append(b, 4+66, byte(h5file.LinkInfoType), 66, 0, 0, 0, 0)
	b = append(append(b, undefined...), undefined...)
	return repaired(append(b, 0, 0, 0, 0))
}

// withMessage returns a file with one message in its superblock extension.
func withMessage(t testing.TB, m h5file.MessageType, content []byte) []byte {
	t.Helper()
	undefined := bytes.Repeat([]byte{0xFF}, 8)
	b := append([]byte(h5file.Signature), 2, 8, 8, 0)
	b = append(b, make([]byte, 8)...)              // base address
	b = binary.LittleEndian.AppendUint64(b, 48)    // extension
	b = binary.LittleEndian.AppendUint64(b, 1<<20) // end of file, corrected below
	b = append(b, undefined[:7]...)                // root
	b = append(b, 0, 0, 0, 0, 0)                   // checksum
	head := append([]byte("OHDR\x02\x01"), byte(len(content)+4), byte((len(content)+4)>>8), byte(m), byte(len(content)), byte(len(content)>>8), 0)
	b = append(append(append(b, head...), content...), 0, 0, 0, 0)
	binary.LittleEndian.PutUint64(b[28:], uint64(len(b)))
	return repaired(b)
}

func TestDifferences(t *testing.T) {
	for name, test := range rows {
		t.Run(name, test)
	}
}

// TestDifferencesTable checks that the table has a row for each test, and that each row has a test.
func TestDifferencesTable(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "hdf5-differences.md"))
	require.NoError(t, err)
	var listed []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Za-z0-9]+)` \\|").FindAllSubmatch(b, -1) {
		listed = append(listed, string(m[1]))
	}
	var tested []string
	for name := range rows {
		tested = append(tested, name)
	}
	require.ElementsMatch(t, tested, listed)

	// The other rows name tests of package h5. Every row must name an existing test.
	sources, err := filepath.Glob(filepath.Join("..", "..", "..", "h5", "*_test.go"))
	require.NoError(t, err)
	var all []byte
	for _, name := range sources {
		all = append(all, load(t, name)...)
	}
	others := regexp.MustCompile("(?m)^\\| `h5\\.(Test[A-Za-z0-9]+)` \\|").FindAllSubmatch(b, -1)
	require.NotEmpty(t, others)
	for _, m := range others {
		require.Contains(t, string(all), "\nfunc "+string(m[1])+"(t *testing.T)")
	}
	require.NotRegexp(t, "(?m)^[-*] ", string(b))
}
