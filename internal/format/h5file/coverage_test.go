// Table of the structures and fields that occur in the test files: coverage.md.

package h5file_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

var update = flag.Bool("update", false, "write coverage.md anew")

// structures are the names of all structures in the result of Describe.
var structures = []string{
	"superblock", "driver information block", "object header", "object header continuation",
	"v1 B-tree node", "symbol table node", "local heap", "local heap data segment", "global heap collection",
	"v2 B-tree header", "v2 B-tree internal node", "v2 B-tree leaf node",
	"fractal heap header", "fractal heap indirect block", "fractal heap direct block", "link", "attribute",
	"shared object header message table", "shared message record list",
	"shared dataspace message", "shared datatype message", "shared fill value message", "shared filter pipeline message", "shared attribute message",
	"fixed array header", "fixed array data block", "fixed array data block page",
	"extensible array header", "extensible array index block", "extensible array secondary block", "extensible array data block", "extensible array data block page",
	"free-space manager header", "free-space section list", "virtual dataset mappings", "metadata cache image", "forms of heap IDs", "shared message",
}

// classes are the names of the datatype classes.
var classes = []string{"integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "variable-length", "array"}

// named are the rows that must exist: forms of structures that a reader written only from the
// specification could miss. The values of a field follow its name.
var named = []string{
	"v1 B-tree node | node type | 0; 1", "v1 B-tree node | address of left sibling | undefined", "v1 B-tree node | address of right sibling | undefined",
	"v1 B-tree node | offset of name in local heap", "v1 B-tree node | chunk offset", "v1 B-tree node | filter mask",
	"v2 B-tree leaf node | type | 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11",
	"symbol table node | cache type | 0; 1; 2", "superblock | cache type | 0; 1",
	"local heap | offset to head of free-list", "local heap data segment | offset of next free block", "local heap data segment | size of free block",
	"global heap collection | free space", "global heap collection | reference count", "global heap collection | heap object index",
	"forms of heap IDs | tiny object, normal", "forms of heap IDs | tiny object, extended",
	"forms of heap IDs | huge object, its place", "forms of heap IDs | huge object, its place, filtered",
	"forms of heap IDs | huge object, its number", "forms of heap IDs | huge object, its number, filtered",
	"v2 B-tree leaf node | ID | huge object; tiny object; managed object",
	"fractal heap header | size of filtered root direct block", "fractal heap header | filter identification value | deflate; fletcher32",
	"free-space manager header | client ID | 0; 1",
	"free-space section list | section type | single; first row; normal row, refused; indirect, refused; simple; small; large",
	"shared object header message table | index type | 0; 1", "shared message record list | message location | 0; 1",
	"shared message | version | 1; 2; 3", "shared message | type | 1; 2; 3",
	"NIL message | type | 0x00", "unknown message | flags | 0x00; mark if unknown; fail if unknown; fail on write if unknown",
	"object header | flags | 0x00; 0x01; 0x02; 0x03; 0x04; 0x0c; 0x10; 0x20", "object header | gap", "object header | version | 1; 2",
	"object header | access time", "object header | modification time", "object header | change time", "object header | birth time",
	"object header continuation | signature",
	`driver information block | driver identification | "NCSAfami"; "NCSAmult"`,
	"driver information block | member of superblock", "driver information block | member of B-trees", "driver information block | member of raw data",
	"driver information block | member of global heaps", "driver information block | member of local heaps", "driver information block | member of object headers",
	`driver info message | driver identification | "NCSAfami"; "NCSAmult"`,
	"file space info message | address of free-space manager | superblock; B-trees; raw data; global heaps; local heaps; object headers",
	"datatype message | class and version | version 1, " + strings.Join(classes, "; version 1, ") + "; version 2, " + strings.Join(classes, "; version 2, ") +
		"; version 3, " + strings.Join(classes, "; version 3, ") + "; version 4, " + strings.Join(classes, "; version 4, "),
	"superblock | size of offsets | 2; 4; 8; 16; 32", "superblock | size of lengths | 2; 4; 8", "superblock | version | 0; 1; 2; 3",
	"superblock | superblock extension address | undefined",
	"data layout message | version | 1; 2; 3; 4", "data layout message | chunk indexing type | single chunk; implicit; fixed array; extensible array; version 2 B-tree",
	"attribute message | version | 1; 2; 3", "fill value message | version | 1; 2; 3", "filter pipeline message | version | 1; 2", "file space info message | version | 0; 1",
}

// telling matches the fields whose values are listed, for example versions and types.
var telling = regexp.MustCompile(`version|type|class|client|flags|size of (offsets|lengths)|cset|encod|node level|strategy|driver identification|message location|address of free-space manager|ID$|filter identification|persist|allocation|write time|dimensionality`)

var index = regexp.MustCompile(` \d+$`)

// coverage contains the observed values, by structure and field.
type coverage map[string]*shown

type shown struct {
	file   string
	values map[string]string // with the first file of each value
}

func (s *shown) saw(value, file string) {
	if _, seen := s.values[value]; !seen {
		s.values[value] = file
	}
}

// table lists the values. A value from another file than the field's is followed by its file.
func (s *shown) table() string {
	values := slices.SortedFunc(maps.Keys(s.values), func(x, y string) int { return strings.Compare(fmt.Sprintf("%24s", x), fmt.Sprintf("%24s", y)) })
	most := len(values)
	if most > 48 {
		most = 48
	}
	var out []string
	for _, v := range values[:most] {
		if file := s.values[v]; file != s.file {
			v += " (" + file + ")"
		}
		out = append(out, v)
	}
	if most < len(values) {
		out = append(out, "…")
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "|", "\\|")
}

func (c coverage) add(file, structure string, f format.Field) {
	name := index.ReplaceAllString(f.Name, "")
	if slices.Contains(structures, name) {
		structure = name
	}
	if name == "message" && strings.HasPrefix(f.Value, "unknown message") {
		structure = "unknown message"
	} else if name == "message" && f.Value != "" {
		structure = f.Value + " message"
	}
	if len(f.Fields) == 0 {
		key := structure + " | " + name
		s := c[key]
		if s == nil {
			s = &shown{file, map[string]string{}}
			c[key] = s
		}
		if f.Value == "undefined" {
			s.saw(f.Value, file)
		}
		if telling.MatchString(name) && !strings.HasSuffix(name, " size") {
			v := f.Value
			if f.Meaning != "" {
				v = f.Meaning
			}
			if name == "class and version" {
				v = f.Meaning
			}
			if len(v) > 0 && len(v) < 48 && !strings.Contains(v, `"`) || strings.HasPrefix(v, `"NCSA`) {
				s.saw(v, file)
			}
		}
	}
	for _, part := range f.Fields {
		c.add(file, structure, part)
	}
}

func (c coverage) write(b *bytes.Buffer) {
	b.WriteString("# What the HDF5 reader reads, and in which files\n\n" +
		"Written by `go test ./internal/format/h5file -run TestCoverage -update`; do not edit. For each field of each structure it names a file that shows it: " +
		"a fixture of internal/format/h5file/fixtures_test.go or of the tests beside it, in italics, or one of HDF5's own test files. Of fields that say what kind of thing follows, the values met are listed, each with its file if that is another one.\n")
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	last := ""
	for _, k := range keys {
		structure, field, _ := strings.Cut(k, " | ")
		if structure != last {
			fmt.Fprintf(b, "\n## %s\n\n| field | file | values |\n|---|---|---|\n", structure)
			last = structure
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", field, c[k].file, c[k].table())
	}
}

func TestCoverage(t *testing.T) {
	dir := testenv.Directory(t, testenv.HDF5Source)
	if v, err := h5.Version(); err != nil || v != "2.2.0" {
		t.Skipf("HDF5 %s (%v) may write the fixtures otherwise than 2.2.0, whose table it is", v, err)
	}
	c := coverage{}
	own := fixtures(t)
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c.add("*"+name+"*", "", describe(own[name]))
	}
	info := append([]byte("\x00NCSAfami\x08\x00"), 0, 16, 0, 0, 0, 0, 0, 0)
	c.add("*extension*", "", describe(withMessage(t, h5file.DriverInfoType, info)))
	c.add("*crafted*", "", h5file.Crafted(t))
	for version := byte(1); version <= 4; version++ {
		c.add(fmt.Sprintf("*types of version %d*", version), "", describe(typesOfVersion(t, version)))
	}
	for _, n := range []int{4, 8} {
		c.add(fmt.Sprintf("*header of %d bytes of size*", n), "", describe(emptyGroup(n)))
	}
	c.add("*split*", "", describe(splitDriver(t)))
	c.add("*addresses of 32 bytes*", "", describe(widest()))
	// This file is corrupt only because some unknown messages must be understood.
	c.add("tbogus.h5", "", describe(load(t, filepath.Join(dir, "test", "testfiles", "tbogus.h5"))))
	for _, file := range findFiles(t, dir) {
		b := load(t, file)
		if len(b) > 1<<20 {
			continue // large files contain no other structures
		}
		// Skip corrupt files, because their fields may be wrong.
		tree := describe(b)
		if complaint(tree) == "" {
			c.add(filepath.Base(file), "", tree)
		}
	}
	drivers := filepath.Join(dir, "tools/test/h5dump/testfiles")
	c.add("family_file%05d.h5", "", describe(family(t, filepath.Join(dir, "tools/test/misc/testfiles/family_file%05d.h5"))))
	c.add("tsplit_file-m.h5", "", describe(load(t, filepath.Join(drivers, "tsplit_file-m.h5"))))
	for m := range h5file.MessageType(0x19) {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(k string) bool { return strings.HasPrefix(k, m.String()+" message | ") }), "no file shows a %s message", m)
	}
	for _, s := range structures {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(k string) bool { return strings.HasPrefix(k, s+" | ") }), "no file shows %q", s)
	}
	for _, row := range named {
		parts := strings.SplitN(row, " | ", 3)
		s := c[parts[0]+" | "+parts[1]]
		if !assert.NotNil(t, s, "no file shows %s", row) || len(parts) < 3 {
			continue
		}
		for _, v := range strings.Split(parts[2], "; ") {
			if strictAddresses && parts[1] == "size of offsets" && v == "16" {
				continue // the fixture with this size is not created
			}
			assert.Contains(t, s.values, v, "no file shows it in %s | %s", parts[0], parts[1])
		}
	}
	if strictAddresses {
		return // the table contains all fixtures
	}
	var b bytes.Buffer
	c.write(&b)
	golden := "coverage.md"
	if *update {
		require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update")
}
