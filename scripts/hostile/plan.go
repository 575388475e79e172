// What is tried: files as they are, cut, and mutated.

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/cframe"
	"github.com/hyperslab/hyperslab/format/chunk"
	"github.com/hyperslab/hyperslab/format/hdf5"
)

// smallFile is how long a file is at most that is mutated, in bytes.
const smallFile = 64 << 10

// seed is a file, or a directory of files, as someone made it.
type seed struct {
	path  string // for people
	sort  string // "hdf5", "frame", "chunk", "tree"
	files map[string][]byte
	names []string // of files, in order
	crude bool     // hostile already

	described bool
	fields    []format.Field // all, of the one file
	sums      []checksum
}

// checksum is where a file has one, and what of.
type checksum struct{ from, at int64 }

// item is one case.
type item struct {
	seed *seed
	how  string // "as it is", "cut", "mutated"
	n    uint64 // the length of a cut file, or the number of a mutant
	base uint64 // of what is random
}

func (x *item) kind() string {
	if x.seed.crude {
		return "known attacks, " + x.seed.sort
	}
	return x.seed.sort + ", " + x.how
}

func (x *item) name() string { return fmt.Sprintf("%s %s %d", x.seed.path, x.how, x.n) }

// plan lists the cases, the same ones in every process.
func plan(c config) ([]item, error) {
	var seeds []*seed
	if c.corpus != "" {
		s, err := gather(filepath.Join(c.corpus, "hostile-hdf5"))
		if err != nil {
			return nil, err
		}
		for _, x := range s {
			x.crude = true
		}
		seeds = append(seeds, s...)
		if s, err = gather(filepath.Join(c.corpus, "blosc2")); err != nil {
			return nil, err
		}
		seeds = append(seeds, s...)
	}
	for _, dir := range []string{c.blosc2, c.hdf5, filepath.Join(c.root, "format/testdata"), filepath.Join(c.root, "format/bcolz/testdata"), filepath.Join(c.root, "testdata")} {
		if dir == "" {
			continue
		}
		s, err := gather(dir)
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s...)
	}
	if len(seeds) < 50 {
		return nil, fmt.Errorf("%d files: HYPERSLAB_CORPUS, HYPERSLAB_BLOSC2_SRC and HYPERSLAB_HDF5_SRC name folders of them (make vendor)", len(seeds))
	}
	var list []item
	for _, s := range seeds {
		list = append(list, item{seed: s, how: "as it is"})
		if s.crude || s.sort == "tree" {
			continue
		}
		at := s.borders()
		for i := range min(len(at), c.cuts) {
			list = append(list, item{seed: s, how: "cut", n: uint64(at[i*len(at)/min(len(at), c.cuts)])})
		}
	}
	for _, part := range shares {
		of := slices.DeleteFunc(slices.Clone(seeds), func(s *seed) bool { return s.sort != part.sort })
		for i := range c.mutants * part.percent / 100 * min(len(of), 1) {
			list = append(list, item{seed: of[i%len(of)], how: "mutated", n: uint64(i / len(of)), base: c.seed})
		}
	}
	return list, nil
}

// shares say how the mutants are spread over the sorts of file.
var shares = []struct {
	sort    string
	percent int
}{{"hdf5", 50}, {"frame", 20}, {"tree", 15}, {"chunk", 15}}

// gather finds the files and trees below a folder.
func gather(root string) ([]*seed, error) {
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
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || info.Size() > smallFile {
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
	switch _, err := hdf5.Open(bytes.NewReader(b), int64(len(b)), nil); {
	case strings.HasSuffix(path, ".h5") || strings.HasSuffix(path, ".hdf5") || err == nil:
		return "hdf5"
	case len(b) > 10 && string(b[2:10]) == "b2frame\x00":
		return "frame"
	case strings.HasSuffix(path, ".cdata") || filepath.Base(filepath.Dir(path)) == "chunk" && chunk.Check(b) == nil:
		return "chunk"
	}
	return ""
}

// directory is a tree of bcolz, or a sparse frame; nil for any other.
func directory(path string) (*seed, error) {
	found := false
	for _, name := range []string{"chunks.b2frame", "meta/storage", "__rootdirs__"} {
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

// describe lists the fields of a seed that is one file.
func (s *seed) describe() {
	if s.described {
		return
	}
	s.described = true
	b := s.files[""]
	var tree format.Field
	switch s.sort {
	case "hdf5":
		tree = hdf5.Describe(bytes.NewReader(b), int64(len(b)))
	case "frame":
		tree = cframe.Describe(bytes.NewReader(b), int64(len(b)))
	case "chunk":
		tree = chunk.Describe(b)
	default:
		return
	}
	var walk func(f, parent format.Field)
	walk = func(f, parent format.Field) {
		if f.Offset < 0 || f.Length <= 0 || f.Offset+f.Length > int64(len(b)) {
			return
		}
		s.fields = append(s.fields, f)
		if strings.EqualFold(f.Name, "checksum") && f.Length == 4 && parent.Offset < f.Offset {
			s.sums = append(s.sums, checksum{parent.Offset, f.Offset})
		}
		for _, part := range f.Fields {
			walk(part, f)
		}
	}
	walk(tree, tree)
}

// borders are the lengths at which a structure begins or ends.
func (s *seed) borders() []int64 {
	s.describe()
	var at []int64
	for _, f := range s.fields {
		if len(f.Fields) > 0 {
			at = append(at, f.Offset, f.Offset+f.Length)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	return slices.DeleteFunc(at, func(n int64) bool { return n >= int64(len(s.files[""])) })
}

// make returns the files of the case.
func (x *item) make() map[string][]byte {
	switch x.how {
	case "cut":
		return map[string][]byte{"": x.seed.files[""][:x.n]}
	case "mutated":
		return x.mutate()
	}
	return x.seed.files
}

// mutate changes a few places of one file: fields more often than other bytes, by
// values that are often forgotten; and mostly puts right the checksums that would
// give it away.
func (x *item) mutate() map[string][]byte {
	s := x.seed
	s.describe()
	h := fnv.New64a()
	fmt.Fprint(h, filepath.Base(s.path), len(s.files))
	r := rand.New(rand.NewPCG(x.base, h.Sum64()+x.n))
	files := map[string][]byte{}
	for name, b := range s.files {
		files[name] = b
	}
	name := s.names[r.IntN(len(s.names))]
	b := bytes.Clone(files[name])
	for range 1 + r.IntN(1+r.IntN(6)) {
		if len(b) == 0 {
			break
		}
		at, n := r.IntN(len(b)), 1<<r.IntN(4)
		if len(s.fields) > 0 && r.IntN(4) > 0 {
			f := s.fields[r.IntN(len(s.fields))]
			if len(f.Fields) == 0 && f.Length <= 8 {
				at, n = int(f.Offset), int(f.Length)
			}
		}
		if at >= len(b) {
			continue // cut off
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
			if s.sort == "frame" && r.IntN(2) == 0 {
				slices.Reverse(le[:n])
			}
			copy(b[at:at+n], le[:])
		case 5: // what stands elsewhere
			from := r.IntN(len(b))
			copy(b[at:min(at+n, len(b))], b[from:])
		case 6: // a neighbour
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
		for _, c := range s.sums {
			if c.at+4 <= int64(len(b)) {
				binary.LittleEndian.PutUint32(b[c.at:], hdf5.Lookup3(b[c.from:c.at]))
			}
		}
	}
	files[name] = b
	return files
}

var interesting = []uint64{
	0, 1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xfffffff0, 0xffffffe0, 1 << 40, 1 << 30, 24, 48, 96,
}
