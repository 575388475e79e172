// Which field of which structure some file shows: docs/hdf5-coverage.md.

package hdf5_test

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

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/need"
)

var update = flag.Bool("update", false, "write docs/hdf5-coverage.md anew")

// structures are all that Describe names.
var structures = []string{
	"superblock", "driver information block", "object header", "object header continuation",
	"v1 B-tree node", "symbol table node", "local heap", "local heap data segment", "global heap collection",
	"v2 B-tree header", "v2 B-tree internal node", "v2 B-tree leaf node",
	"fractal heap header", "fractal heap indirect block", "fractal heap direct block", "link", "attribute",
	"shared object header message table", "shared message record list",
	"shared dataspace message", "shared datatype message", "shared fill value message", "shared filter pipeline message", "shared attribute message",
	"fixed array header", "fixed array data block", "fixed array data block page",
	"extensible array header", "extensible array index block", "extensible array secondary block", "extensible array data block", "extensible array data block page",
	"free-space manager header", "free-space section list", "virtual dataset mappings", "metadata cache image", "forms of heap IDs",
}

// telling are the fields whose values are listed: the kinds of things.
var telling = regexp.MustCompile(`version|type|class|client|flags|size of (offsets|lengths)|cset|encod|node level|strategy|driver identification|message location|address of free-space manager|ID$|filter identification|persist|allocation|write time|dimensionality`)

var index = regexp.MustCompile(` \d+$`)

// coverage is what files show, by structure and field.
type coverage map[string]*shown

type shown struct {
	file   string
	values map[string]bool
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
			s = &shown{file, map[string]bool{}}
			c[key] = s
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
				s.values[v] = true
			}
		}
	}
	for _, part := range f.Fields {
		c.add(file, structure, part)
	}
}

func (c coverage) write(b *bytes.Buffer) {
	b.WriteString("# What the HDF5 reader reads, and in which files\n\n" +
		"Written by `go test ./format/hdf5 -run TestCoverage -update`; do not edit. For each field of each structure it names a file that shows it: " +
		"a fixture of format/hdf5/fixtures_test.go or of the tests beside it, in italics, or one of HDF5's own test files. Of fields that say what kind of thing follows, the values met are listed.\n")
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
		values := make([]string, 0, len(c[k].values))
		for v := range c[k].values {
			values = append(values, v)
		}
		slices.SortFunc(values, func(x, y string) int { return strings.Compare(fmt.Sprintf("%24s", x), fmt.Sprintf("%24s", y)) })
		if len(values) > 24 {
			values = append(values[:24], "…")
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", field, c[k].file, strings.ReplaceAll(strings.Join(values, "; "), "|", "\\|"))
	}
}

func TestCoverage(t *testing.T) {
	dir := need.Folder(t, need.HDF5Source)
	if v, err := h5.Version(); err != nil || v != "1.14.5" {
		t.Skipf("HDF5 %s (%v) may write the fixtures otherwise than 1.14.5, whose table it is", v, err)
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
	c.add("*extension*", "", describe(withMessage(t, hdf5.DriverInfoType, info)))
	c.add("*crafted*", "", hdf5.Crafted(t))
	c.add("*addresses of 32 bytes*", "", describe(widest()))
	// Damaged only in that some messages must be understood.
	c.add("tbogus.h5", "", describe(load(t, filepath.Join(dir, "test", "testfiles", "tbogus.h5"))))
	for _, file := range findFiles(t, dir) {
		b := load(t, file)
		if len(b) > 1<<20 {
			continue // nothing but more of the same
		}
		// Files that are damaged show what is not there.
		tree := describe(b)
		if complaint(tree) == "" {
			c.add(filepath.Base(file), "", tree)
		}
	}
	drivers := filepath.Join(dir, "tools/test/h5dump/testfiles")
	c.add("family_file%05d.h5", "", describe(family(t, filepath.Join(dir, "tools/test/misc/testfiles/family_file%05d.h5"))))
	c.add("tsplit_file-m.h5", "", describe(load(t, filepath.Join(drivers, "tsplit_file-m.h5"))))
	for m := range hdf5.MessageType(0x19) {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(k string) bool { return strings.HasPrefix(k, m.String()+" message | ") }), "no file shows a %s message", m)
	}
	for _, s := range structures {
		assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(c)), func(k string) bool { return strings.HasPrefix(k, s+" | ") }), "no file shows %q", s)
	}
	var b bytes.Buffer
	c.write(&b)
	golden := filepath.Join("..", "..", "docs", "hdf5-coverage.md")
	if *update {
		require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update")
}
