// The cases: files that are unmodified, truncated, and mutated.

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
)

// smallFile is the maximum length in bytes of a file that is truncated and mutated. Known attacks
// are used at any length.
const smallFile = 64 << 10

// seed is an unmodified file, or directory of files.
type seed struct {
	path  string // shown in messages
	sort  string // "hdf5", "frame", "chunk", "tree", "store"
	files map[string][]byte
	names []string // of files, in order
	crude bool     // already hostile

	attack *storeattack.Attack // which must be refused with its error; nil: none

	layouts map[string]*layout
	crafts  []craft
}

// layout describes the structures of a file.
type layout struct {
	fields []format.Field // all fields of the tree, groups before their parts
	sums   []checksum
}

// mend updates the checksums in b, which may have been truncated.
func (l *layout) mend(b []byte) {
	for _, c := range l.sums {
		if c.at+4 <= int64(len(b)) {
			binary.LittleEndian.PutUint32(b[c.at:], h5file.Lookup3(b[c.from:c.at]))
		}
	}
}

// checksum is the position of a checksum, and the start of the bytes that it covers.
type checksum struct{ from, at int64 }

// item is one case.
type item struct {
	seed *seed
	how  string // "as it is", "cut", "crafted", "mutated"
	file string // the file that is truncated
	n    uint64 // the length of a truncated file, or the number of a craft or a mutant
	base uint64 // seed of the random choices
	rare bool   // runs in the direct mode only, where a case is cheap
	both bool   // runs in a worker as well, although rare
}

func (x *item) kind() string {
	if x.seed.attack != nil {
		return "store, known attacks"
	}
	if x.seed.crude {
		return "known attacks, " + x.how
	}
	if _, ok := x.seed.files[b2store.EmbedFile]; ok {
		return "store in a directory, " + x.how
	}
	return x.seed.sort + ", " + x.how
}

func (x *item) name() string {
	s := fmt.Sprintf("%s %s %s %d", x.seed.path, x.file, x.how, x.n)
	if x.how == "crafted" {
		s += ": " + x.seed.crafts[x.n].what
	}
	return s
}

// plan lists the cases, in the same order in every process.
func plan(c config) ([]item, error) {
	var seeds []*seed
	if c.corpus != "" {
		s, err := gather(filepath.Join(c.corpus, "hostile-hdf5"), math.MaxInt64)
		if err != nil {
			return nil, err
		}
		for _, x := range s {
			x.crude = true
		}
		seeds = append(seeds, s...)
		if s, err = gather(filepath.Join(c.corpus, "blosc2"), smallFile); err != nil {
			return nil, err
		}
		seeds = append(seeds, s...)
	}
	for _, dir := range []string{c.blosc2, c.hdf5, filepath.Join(c.root, "internal/format/testdata"), filepath.Join(c.root, "internal/format/bcolztree/testdata"), filepath.Join(c.root, "testdata")} {
		if dir == "" {
			continue
		}
		s, err := gather(dir, smallFile)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s...)
	}
	made, err := craftedSeeds(c)
	if err != nil {
		return nil, err
	}
	if seeds = append(seeds, made...); len(seeds) < 50 {
		return nil, fmt.Errorf("%d files: HYPERSLAB_CORPUS, HYPERSLAB_BLOSC2_SRC and HYPERSLAB_HDF5_SRC name directories of them (make vendor)", len(seeds))
	}
	var list []item
	for _, s := range seeds {
		list = append(list, item{seed: s, how: "as it is"})
		for i := range s.crafts {
			list = append(list, item{seed: s, how: "crafted", n: uint64(i), rare: i%8 > 0})
		}
		if s.crude {
			continue
		}
		for _, name := range s.names {
			at := s.borders(name)
			often := (len(at) + c.cuts - 1) / max(c.cuts, 1)
			for i, n := range at {
				list = append(list, item{seed: s, how: "cut", file: name, n: uint64(n), rare: c.cuts == 0 || i%often > 0})
			}
		}
	}
	if c.match != nil {
		list = slices.DeleteFunc(list, func(x item) bool { return !c.match.MatchString(x.name()) })
	}
	if c.every > 1 {
		n := 0
		list = slices.DeleteFunc(list, func(x item) bool {
			if x.rare {
				n++
			}
			return x.rare && n%c.every > 0
		})
	}
	if n := 0; c.workers > 0 {
		for i := range list {
			if list[i].rare {
				n++
				list[i].both = n%c.workers == 0
			}
		}
	}
	for _, part := range shares {
		of := slices.DeleteFunc(slices.Clone(seeds), func(s *seed) bool { return s.sort != part.sort || len(s.files[""]) > smallFile || s.attack != nil })
		for i := range c.mutants * part.percent / 100 * min(len(of), 1) {
			x := item{seed: of[i%len(of)], how: "mutated", n: uint64(i / len(of)), base: c.seed}
			if c.match == nil || c.match.MatchString(x.name()) {
				list = append(list, x)
			}
		}
	}
	return list, nil
}

// shares are the percentages of the mutants by sort of file.
var shares = []struct {
	sort    string
	percent int
}{{"hdf5", 45}, {"frame", 20}, {"tree", 15}, {"chunk", 15}, {"store", 5}}

// gather returns the files of at most the given number of bytes, and the trees, below a directory.
func gather(root string, most int64) ([]*seed, error) {
	var seeds []*seed
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			s, err := directory(path)
			if s != nil {
				seeds = append(seeds, s)
				return fs.SkipDir
			}
			return err
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > most {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if sort := sortOf(path, b); sort != "" {
			seeds = append(seeds, &seed{path: path, sort: sort, files: map[string][]byte{"": b}, names: []string{""}})
		}
		return nil
	})
	return seeds, err
}

func sortOf(path string, b []byte) string {
	switch _, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil); {
	case strings.HasSuffix(path, ".h5") || strings.HasSuffix(path, ".hdf5") || err == nil:
		return "hdf5"
	case len(b) > 10 && string(b[2:10]) == "b2frame\x00":
		return "frame"
	case b2store.IsZip(b):
		return "store"
	case strings.HasSuffix(path, ".cdata") || filepath.Base(filepath.Dir(path)) == "chunk" && chunk.Check(b) == nil:
		return "chunk"
	}
	return ""
}

// directory returns a seed for a bcolz tree, a sparse frame or a store, or nil for other
// directories.
func directory(path string) (*seed, error) {
	found := false
	for _, name := range []string{"chunks.b2frame", "meta/storage", "__rootdirs__", b2store.EmbedFile} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil && info.Mode().IsRegular() {
			found = true
		}
	}
	if !found {
		return nil, nil
	}
	s := &seed{path: path, sort: "tree", files: map[string][]byte{}}
	return s, filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		s.names = append(s.names, name)
		s.files[name], err = os.ReadFile(file)
		return err
	})
}

// layout returns the fields of a file of the seed. A text file has no fields.
func (s *seed) layout(name string) *layout {
	if l := s.layouts[name]; l != nil {
		return l
	}
	l := &layout{}
	if s.layouts == nil {
		s.layouts = map[string]*layout{}
	}
	s.layouts[name] = l
	b := s.files[name]
	var tree format.Field
	switch {
	case s.sort == "hdf5":
		tree = h5file.Describe(bytes.NewReader(b), int64(len(b)))
	case s.sort == "store":
		l.fields = zipFields(b)
		return l
	case s.sort == "frame" || isFrame(name):
		tree = cframe.Describe(bytes.NewReader(b), int64(len(b)))
	case s.sort == "chunk" || strings.HasSuffix(name, ".chunk"):
		tree = chunk.Describe(b)
	case strings.HasSuffix(name, ".blp"):
		tree = bcolztree.DescribeFile(b)
	default:
		return l
	}
	var walk func(f, parent format.Field)
	walk = func(f, parent format.Field) {
		if f.Offset < 0 || f.Length <= 0 || f.Offset+f.Length > int64(len(b)) {
			return
		}
		l.fields = append(l.fields, f)
		if strings.EqualFold(f.Name, "checksum") && f.Length == 4 && parent.Offset < f.Offset {
			l.sums = append(l.sums, checksum{parent.Offset, f.Offset})
		}
		for _, part := range f.Fields {
			walk(part, f)
		}
	}
	walk(tree, tree)
	return l
}

// isFrame reports whether a file of a tree is a frame.
func isFrame(name string) bool {
	return strings.HasSuffix(name, cframe.IndexFile) || slices.Contains([]string{b2store.ArrayExt, b2store.FrameExt, b2store.BatchExt, ".b2e"}, filepath.Ext(name))
}

// zipFields returns the fields of all headers of a ZIP file.
func zipFields(b []byte) (fields []format.Field) {
	for _, h := range []struct {
		signature string
		sizes     []int64
	}{
		{"PK\x03\x04", []int64{2, 2, 2, 2, 2, 4, 4, 4, 2, 2}},
		{"PK\x01\x02", []int64{2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4}},
		{"PK\x05\x06", []int64{2, 2, 2, 2, 4, 4, 2}},
	} {
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(h.signature))
			if i < 0 {
				break
			}
			at += i + len(h.signature)
			offset := int64(at)
			fields = append(fields, format.Field{Name: "signature", Offset: offset - 4, Length: 4, Fields: []format.Field{{}}})
			for k, n := range h.sizes {
				if offset+n <= int64(len(b)) {
					fields = append(fields, format.Field{Name: fmt.Sprintf("% x field %d", h.signature, k), Offset: offset, Length: n})
				}
				offset += n
			}
		}
	}
	return fields
}

// borders returns the offsets at which a structure of a file begins or ends. For a text file they
// are the offsets after each JSON delimiter.
func (s *seed) borders(name string) []int64 {
	b := s.files[name]
	var at []int64
	fields := s.layout(name).fields
	for _, f := range fields {
		if len(f.Fields) > 0 {
			at = append(at, f.Offset, f.Offset+f.Length)
		}
	}
	for i, c := range b {
		if fields == nil && strings.IndexByte(`{}[]":,`, c) >= 0 {
			at = append(at, int64(i+1))
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(n int64) bool { return n >= int64(len(b)) })
}

// make returns the files of the case.
func (x *item) make() map[string][]byte {
	switch x.how {
	case "cut":
		files := maps.Clone(x.seed.files)
		files[x.file] = files[x.file][:x.n]
		return files
	case "crafted":
		return x.seed.crafts[x.n].make(x.seed)
	case "mutated":
		return x.mutate()
	}
	return x.seed.files
}

// mutate changes 1 to 6 positions of one file. It prefers fields to other bytes, and values of
// interesting. In 4 of 5 cases it updates the checksums, which would otherwise reveal the change.
func (x *item) mutate() map[string][]byte {
	s := x.seed
	h := fnv.New64a()
	fmt.Fprint(h, filepath.Base(s.path), len(s.files))
	r := rand.New(rand.NewPCG(x.base, h.Sum64()+x.n))
	files := maps.Clone(s.files)
	name := s.names[r.IntN(len(s.names))]
	b, l := bytes.Clone(files[name]), s.layout(name)
	for range 1 + r.IntN(1+r.IntN(6)) {
		if len(b) == 0 {
			break
		}
		at, n := r.IntN(len(b)), 1<<r.IntN(4)
		if l.fields == nil && s.sort == "tree" && r.IntN(2) == 0 {
			if words := tokens(b); len(words) > 0 {
				b = replaceToken(b, words[r.IntN(len(words))], badTokens[r.IntN(len(badTokens))])
				continue
			}
		}
		if len(l.fields) > 0 && r.IntN(4) > 0 {
			f := l.fields[r.IntN(len(l.fields))]
			if len(f.Fields) == 0 && f.Length <= 8 {
				at, n = int(f.Offset), int(f.Length)
			}
		}
		if at >= len(b) {
			continue // truncated
		}
		n = min(n, len(b)-at)
		switch r.IntN(8) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2, 3, 4:
			v := interesting[r.IntN(len(interesting))]
			var le [8]byte
			binary.LittleEndian.PutUint64(le[:], v)
			if bigEndian(s, name) && r.IntN(2) == 0 {
				slices.Reverse(le[:n])
			}
			copy(b[at:at+n], le[:])
		case 5: // bytes from another offset
			from := r.IntN(len(b))
			copy(b[at:min(at+n, len(b))], b[from:])
		case 6: // a similar number
			var le [8]byte
			copy(le[:], b[at:at+n])
			binary.LittleEndian.PutUint64(le[:], binary.LittleEndian.Uint64(le[:])+uint64(r.IntN(5))-2)
			copy(b[at:at+n], le[:])
		case 7:
			if r.IntN(8) == 0 {
				b = b[:at]
			} else {
				clear(b[at : at+n])
			}
		}
	}
	if r.IntN(5) > 0 {
		l.mend(b)
	}
	files[name] = b
	return files
}

var interesting = []uint64{
	0, 1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xfffffff0, 0xffffffe0, 1 << 40, 1 << 30, 24, 48, 96,
}
