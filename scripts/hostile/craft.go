// Crafted files. In small files of each kind, every field of header, index, metalayers and trailer
// takes each of the values in interesting. In HDF5 files of each chunk index, every field of every
// structure takes some of them. Every token of a tree's metadata is replaced, and files are
// replaced by directories, pipes and links.

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
)

// craft is one modification of a seed. It changes the content of file, or removes file and calls
// place to create something else there.
type craft struct {
	what, file string
	change     func(b []byte) []byte
	place      func(path string) error // nil: file stays a file
}

func (c *craft) make(s *seed) map[string][]byte {
	files := maps.Clone(s.files)
	if c.place != nil {
		delete(files, c.file)
	} else {
		files[c.file] = c.change(bytes.Clone(files[c.file]))
	}
	return files
}

// craftedSeeds makes files with the libraries, takes trees of bcolz-zipline, and adds the
// modifications of each.
func craftedSeeds(c config) ([]*seed, error) {
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(arrays(dir), datasets(dir)); err != nil {
		return nil, err
	}
	seeds, err := gather(dir, smallFile)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"type_i4", "rows", "unicode", "attrs", "object", "structured", "table"} {
		s, err := directory(filepath.Join(c.root, "internal/format/bcolztree/testdata", name))
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, fmt.Errorf("internal/format/bcolztree/testdata/%s is no tree", name)
		}
		seeds = append(seeds, s)
	}
	stored, err := storeSeeds(c)
	if err != nil {
		return nil, err
	}
	seeds = append(seeds, stored...)
	for _, s := range seeds {
		s.path = "made/" + filepath.Base(s.path) // the same in every process
		for _, name := range s.names {
			s.craft(name)
		}
	}
	return seeds, nil
}

// storeSeeds returns the golden store as a ZIP file and as a directory, and the attacks of package
// storeattack.
func storeSeeds(c config) ([]*seed, error) {
	b, err := os.ReadFile(filepath.Join(c.root, "testdata/store.b2z"))
	if err != nil {
		return nil, err
	}
	file := &seed{path: "crafted-store.b2z", sort: "store", files: map[string][]byte{"": b}, names: []string{""}}
	dir := &seed{path: "crafted-store.b2d", sort: "tree", files: map[string][]byte{}}
	members, err := b2store.ReadZip(bytes.NewReader(b), int64(len(b)), b2store.Limits{})
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		dir.names = append(dir.names, m.Name)
		dir.files[m.Name] = b[m.Offset:][:m.Size]
	}
	seeds := []*seed{file, dir}
	attacks, err := storeattack.All(b)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(attacks, func(a, b storeattack.Attack) int { return strings.Compare(a.Name, b.Name) })
	for i := range attacks {
		x := &attacks[i]
		seeds = append(seeds, &seed{path: "store attack, " + x.Name + x.Ext, sort: "store", files: x.Files, crude: true, attack: x})
	}
	return seeds, nil
}

// arrays writes a frame of each kind (b2nd, Caterva, a scalar, an empty one, sparse), and a file
// with a chunk of each codec.
func arrays(dir string) error {
	for i, p := range []*cblosc.ArrayParams{
		{Shape: []int64{7, 5}, ChunkShape: []int32{4, 3}, Blocks: []int32{2, 2}, DType: "<i8", Meta: []cblosc.Metalayer{{Name: "m", Content: []byte("abc")}}},
		{Shape: []int64{9}, ChunkShape: []int32{4}, Blocks: []int32{2}}, // Caterva
		{Shape: []int64{0, 3}, ChunkShape: []int32{2, 2}, Blocks: []int32{1, 2}, DType: "<f8"},
		{DType: "<i8"},
		{Shape: []int64{7, 5}, ChunkShape: []int32{4, 3}, Blocks: []int32{2, 2}, DType: "<i8"},
	} {
		cp := cblosc.DefaultCParams()
		cp.TypeSize = 8
		p.Storage = cblosc.Storage{Path: filepath.Join(dir, fmt.Sprintf("array%d.b2nd", i)), Contiguous: i < 4, CParams: cp}
		create := cblosc.CreateArray
		if i == 1 {
			create = caterva.Create
		}
		a, err := create(p)
		if err != nil {
			return err
		}
		values := make([]byte, 8)
		for _, n := range a.Shape() {
			values = bytes.Repeat(values, int(n))
		}
		for k := range values {
			values[k] = byte(k * k / 7)
		}
		err = a.WriteRegion(values, make([]int64, len(p.Shape)), a.Shape())
		if err == nil {
			err = a.SChunk().VLMeta().Add("v", []byte("a value of variable length"))
		}
		if err := errors.Join(err, a.Close()); err != nil {
			return err
		}
	}
	data := make([]byte, 3000)
	for k := range data {
		data[k] = byte(k / 11)
	}
	for _, codec := range cblosc.Codecs() {
		cp := cblosc.DefaultCParams()
		cp.Codec, cp.TypeSize, cp.BlockSize = codec, 4, 1024
		c, err := cblosc.NewCompressor(cp)
		if err != nil {
			return err
		}
		b := make([]byte, cblosc.MaxCompressedSize(len(data)))
		n, err := c.Compress(b, data)
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, codec.String()+".cdata"), b[:n], 0o600); err != nil {
			return err
		}
	}
	return nil
}

// datasets writes an HDF5 file for each chunk index, and one with attributes in a heap.
func datasets(dir string) error {
	const endless = h5.Unlimited
	level, i4 := 3, h5.Int(4, h5.LittleEndian)
	for _, x := range []struct {
		name  string
		low   h5.LibVer
		dims  []int64
		most  []int64
		o     h5.DatasetOptions
		attrs int
	}{
		{"tree1", h5.Earliest, []int64{5, 3}, nil, h5.DatasetOptions{ChunkShape: []int64{2, 2}, Deflate: &level, Fletcher32: true}, 1},
		{"single", h5.V114, []int64{4, 5}, nil, h5.DatasetOptions{ChunkShape: []int64{4, 5}, Deflate: &level}, 1},
		{"implicit", h5.V114, []int64{5, 3}, nil, h5.DatasetOptions{ChunkShape: []int64{2, 2}, Alloc: h5.AllocEarly}, 0},
		{"fixed", h5.V114, []int64{5, 3}, nil, h5.DatasetOptions{ChunkShape: []int64{2, 2}, Deflate: &level}, 0},
		{"extensible", h5.V114, []int64{9, 3}, []int64{endless, 3}, h5.DatasetOptions{ChunkShape: []int64{2, 3}, Shuffle: true, Deflate: &level}, 0},
		{"tree2", h5.V114, []int64{5, 3}, []int64{endless, endless}, h5.DatasetOptions{ChunkShape: []int64{2, 2}, Deflate: &level}, 0},
		{"heap", h5.V114, []int64{5}, nil, h5.DatasetOptions{Fill: []byte{1, 2, 3, 4}}, 12},
	} {
		c := h5.DefaultFileCreation()
		c.Times = false // the same bytes in every process
		f, err := h5.Create(filepath.Join(dir, x.name+".h5"), &h5.CreateOptions{Low: x.low, High: h5.V114, Creation: &c})
		if err != nil {
			return err
		}
		s := h5.SimpleSpace(x.dims...)
		n := s.NumElems()
		s.MaxDims = x.most
		d, err := f.Root().CreateDataset("x", i4, s, &x.o)
		if err != nil {
			return errors.Join(err, f.Close())
		}
		values := make([]int32, n)
		for k := range values {
			values[k] = int32(k * k)
		}
		err = h5value.Write(d, values, s.All())
		for k := range x.attrs {
			err = errors.Join(err, h5value.WriteAttr(d, fmt.Sprint("attribute ", k), []string{"text", fmt.Sprint(k)}))
		}
		if err := errors.Join(err, d.Close(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// craftHDF5 adds the modifications of an HDF5 file: each field takes some boundary values, its
// value minus one and plus one. The checksums are updated.
func (s *seed) craftHDF5(name string) {
	whole, l := s.files[name], s.layout(name)
	for _, f := range l.fields {
		if len(f.Fields) > 0 || f.Length > 8 || strings.EqualFold(f.Name, "checksum") {
			continue
		}
		var word [8]byte
		copy(word[:], whole[f.Offset:f.Offset+f.Length])
		was := binary.LittleEndian.Uint64(word[:])
		seen := map[string]bool{string(whole[f.Offset : f.Offset+f.Length]): true}
		for _, v := range []uint64{0, 1, 32, 255, 1 << 31, 1<<63 - 1, 1 << 63, 1<<64 - 1, was - 1, was + 1} {
			le := binary.LittleEndian.AppendUint64(nil, v)[:f.Length]
			if seen[string(le)] {
				continue
			}
			seen[string(le)] = true
			s.crafts = append(s.crafts, craft{what: fmt.Sprintf("%s at %d is % x", f.Name, f.Offset, le), file: name, change: func(b []byte) []byte {
				copy(b[f.Offset:], le)
				l.mend(b)
				return b
			}})
		}
	}
}

// craft adds the modifications of one file of the seed.
func (s *seed) craft(name string) {
	if s.sort == "hdf5" {
		s.craftHDF5(name)
		return
	}
	add := func(what string, change func([]byte) []byte) {
		s.crafts = append(s.crafts, craft{what: what, file: name, change: change})
	}
	fields := s.layout(name).fields
	for _, f := range fields {
		if len(f.Fields) > 0 || f.Length > 8 {
			continue
		}
		seen := map[string]bool{string(s.files[name][f.Offset : f.Offset+f.Length]): true}
		for _, v := range interesting {
			le := binary.LittleEndian.AppendUint64(nil, v)[:f.Length]
			if bigEndian(s, name) {
				slices.Reverse(le)
			}
			if seen[string(le)] {
				continue
			}
			seen[string(le)] = true
			add(fmt.Sprintf("%s %s at %d is % x", name, f.Name, f.Offset, le), func(b []byte) []byte {
				copy(b[f.Offset:], le)
				return b
			})
		}
	}
	if fields == nil {
		for _, at := range tokens(s.files[name]) {
			for _, bad := range badTokens {
				add(fmt.Sprintf("%s word at %d is %.40s", name, at[0], bad), func(b []byte) []byte { return replaceToken(b, at, bad) })
			}
		}
	}
	if s.sort != "tree" {
		return
	}
	add(name+" is empty", func([]byte) []byte { return nil })
	for _, other := range s.names {
		if other != name {
			add(name+" is "+other, func([]byte) []byte { return bytes.Clone(s.files[other]) })
		}
	}
	for what, place := range map[string]func(path string) error{
		"gone":                   func(string) error { return nil },
		"a directory":            func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":                 func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link to itself":       func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"a link to no end":       func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link out of the tree": func(path string) error { return os.Symlink("/etc/passwd", path) },
	} {
		s.crafts = append(s.crafts, craft{what: name + " is " + what, file: name, place: place})
	}
	slices.SortStableFunc(s.crafts, func(a, b craft) int { return strings.Compare(a.what, b.what) }) // maps have no order
}

// bigEndian reports whether the numbers of a file are big-endian, except those of its chunks.
func bigEndian(s *seed, name string) bool {
	return s.sort == "frame" || isFrame(name)
}

var word = regexp.MustCompile(`-?[0-9][0-9.eE+-]*|"(?:[^"\\]|\\.)*"|true|false|null`)

// tokens returns the positions of the values and names in JSON.
func tokens(b []byte) [][]int { return word.FindAllIndex(b, -1) }

func replaceToken(b []byte, at []int, token string) []byte {
	return slices.Concat(b[:at[0]], []byte(token), b[at[1]:])
}

var badTokens = []string{
	"0", "-1", "1", "3", "1073741824", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"1e308", "1e99999", "0.5", "NaN", "null", "true", "[]", "{}", `""`, `"x"`, `"\u0000"`, `"\ud800"`, `".."`, `"/etc/passwd"`, `"../../x"`,
	`"int64"`, `"<f8"`, `"|S1073741824"`, `"<U2147483647"`, `"|V0"`, `"object"`, `[('a', '<i4', (1000000, 1000000))]`,
	"[" + strings.Repeat("9223372036854775807, ", 40) + "1]", strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000),
}
