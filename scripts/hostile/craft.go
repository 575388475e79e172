// What nobody writes by chance: in small files of each kind every field of header,
// index, metalayers and trailer takes each forgotten value, every word of a tree's
// metadata is another, and things that are no files stand in the places of files.

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
	"github.com/hyperslab/hyperslab/format/cframe"
)

// craft is one way to spoil a seed: file is another, or gone and place makes what
// stands there instead.
type craft struct {
	what, file string
	change     func(b []byte) []byte
	place      func(path string) error // nil: a file
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

// craftedSeeds makes files with the library, and takes trees of bcolz-zipline, and
// tells how each is spoilt.
func craftedSeeds(c config) ([]*seed, error) {
	dir, err := os.MkdirTemp("", "hostile-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := arrays(dir); err != nil {
		return nil, err
	}
	seeds, err := gather(dir, smallFile)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"type_i4", "rows", "unicode", "attrs", "object", "structured", "table"} {
		s, err := directory(filepath.Join(c.root, "format/bcolz/testdata", name))
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, fmt.Errorf("format/bcolz/testdata/%s is no tree", name)
		}
		seeds = append(seeds, s)
	}
	for _, s := range seeds {
		s.path = "made/" + filepath.Base(s.path) // the same in every process
		for _, name := range s.names {
			s.craft(name)
		}
	}
	return seeds, nil
}

// arrays lays down a frame of each kind: b2nd, Caterva, a scalar, an empty one, sparse,
// and one of each chunk in a file of its own.
func arrays(dir string) error {
	for i, p := range []*cblosc.ArrayParams{
		{Shape: []int64{7, 5}, Chunks: []int32{4, 3}, Blocks: []int32{2, 2}, DType: "<i8", Meta: []cblosc.Metalayer{{Name: "m", Content: []byte("abc")}}},
		{Shape: []int64{9}, Chunks: []int32{4}, Blocks: []int32{2}, Caterva: true},
		{Shape: []int64{0, 3}, Chunks: []int32{2, 2}, Blocks: []int32{1, 2}, DType: "<f8"},
		{DType: "<i8"},
		{Shape: []int64{7, 5}, Chunks: []int32{4, 3}, Blocks: []int32{2, 2}, DType: "<i8"},
	} {
		cp := cblosc.DefaultCParams()
		cp.TypeSize = 8
		p.Storage = cblosc.Storage{Path: filepath.Join(dir, fmt.Sprintf("array%d.b2nd", i)), Contiguous: i < 4, CParams: cp}
		a, err := cblosc.CreateArray(p)
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

// craft adds the ways to spoil one file of the seed.
func (s *seed) craft(name string) {
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

// bigEndian reports whether the numbers of a file are stored highest byte first, but
// for those of its chunks.
func bigEndian(s *seed, name string) bool {
	return s.sort == "frame" || strings.HasSuffix(name, cframe.IndexFile)
}

var word = regexp.MustCompile(`-?[0-9][0-9.eE+-]*|"(?:[^"\\]|\\.)*"|true|false|null`)

// tokens are the places of the values, and of the names, of a text of JSON.
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
