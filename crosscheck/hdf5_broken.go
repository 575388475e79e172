// HDF5 files with one invalid field, which is found by name in the annotated tree of a valid
// vector. libhdf5 and the Go reader both refuse them.

package crosscheck

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// hdf5Break is a rule, the fields that it applies to, and a change of their bytes that violates it.
// The fields are matched by the end of their path.
type hdf5Break struct {
	name   string
	fields *regexp.Regexp
	rule   string
	change func(b []byte, file int) // b is the field; file is the file's length in bytes
}

func setField(v uint64) func([]byte, int) {
	return func(b []byte, _ int) {
		for i := range b {
			b[i] = byte(v >> (8 * min(i, 8)))
		}
	}
}

// fieldNames matches paths that end in one of the names.
func fieldNames(names string) *regexp.Regexp { return regexp.MustCompile(`(^|/)(` + names + `)$`) }

var hdf5Breaks = []hdf5Break{
	{"other", fieldNames(`signature`), "wrong signature", func(b []byte, _ int) { b[1] ^= 0x20 }},
	{"newer", fieldNames(`version|version number|version of .*|class and version`), "version greater than the newest version of the format", func(b []byte, _ int) { b[0] |= 0xF0 }},
	{"3", fieldNames(`size of offsets|size of lengths`), "width that is not a power of two", setField(3)},
	{"beyond", fieldNames(`.*address|address of .*|address`), "address after the end of the file", func(b []byte, file int) { setField(uint64(file)+1<<20)(b, file) }},
	{"beyond", fieldNames(`size of chunk|size of chunk 0|chunk size|object header size|data segment size|data size`), "size that extends beyond the end of the file", func(b []byte, file int) {
		v := uint64(file) + 1<<20
		if len(b) < 4 {
			v = 1<<(8*len(b)) - 1
		}
		setField(v)(b, file)
	}},
	{"beyond", fieldNames(`message \d+/size`), "message that extends beyond its object header", setField(0xFFF8)},
	{"flipped", fieldNames(`checksum`), "wrong checksum", func(b []byte, _ int) { b[2] ^= 0x10 }},
	{"unknown", fieldNames(`node type|client ID|type of index|chunk indexing type|layout class|cache type|subclass ID`), "undefined value", setField(0x4D)},
	{"unknown-class", fieldNames(`class and version`), "undefined class", func(b []byte, _ int) { b[0] |= 0x0F }},
	{"33", fieldNames(`dimensionality`), "more dimensions than the limit of the format", setField(33)},
	{"0", fieldNames(`data layout/dimension size|dimension size encoded length|datatype/size|max number of entries|record size|node size|table width`), "0 in a field that must be positive", setField(0)},
	{"most", fieldNames(`entries used|number of symbols|number of filters|number of members|number of records in .*|total number of header messages`), "more entries than the structure can contain", setField(1<<64 - 1)},
	{"unknown", fieldNames(`filter identification value`), "filter that is not registered", setField(32_500)},
	{"beyond", fieldNames(`link name offset|offset of name in local heap|offset to head of free-list`), "name offset after the end of its heap", setField(1 << 20)},
	{"beyond", fieldNames(`length of link name|name size|name length|datatype size|dataspace size`), "field that extends beyond its message", func(b []byte, _ int) { b[0] |= 0xF8 }},
	{"wrong", fieldNames(`entry size|element size|heap ID length|maximum heap size`), "size that differs from the size of the entries", func(b []byte, _ int) { b[0] += 3 }},
	{"beyond", fieldNames(`bit offset|bit precision`), "bit field outside the element", setField(200)},
}

// hdf5BreakBases are valid vectors, one for each structure to break.
var hdf5BreakBases = []string{
	"hdf5/mask/earliest/all-of-three", "hdf5/mask/v114/all-of-three", "hdf5/type/earliest/vstring-utf8", "hdf5/type/v18/compound-nested",
	"hdf5/index/v114/two-unlimited-sparse", "hdf5/index/v114/one-unlimited-sparse", "hdf5/group/v114/dense-indexed", "hdf5/file/v18/shared", "hdf5/elsewhere/v114/virtual",
}

// brokenHDF5 adds the files that package internal/format/h5file refuses and libhdf5 does not
// accept. Emit does not run libhdf5 on them, because some of them crash the process. Its results
// are in hdf5_broken_table.go; a test checks that table in separate processes.
func (e *emitter) brokenHDF5() error {
	for _, base := range hdf5BreakBases {
		i := slices.IndexFunc(e.m.Cases, func(c Case) bool { return c.ID == base })
		err := eachBrokenHDF5(e.dir, e.m.Cases[i], func(c Case, b []byte) error {
			if hdf5Verdicts[strings.TrimPrefix(c.ID, hdf5Refusals)] != "" {
				return nil
			}
			if checkHDF5(b) == nil {
				return fmt.Errorf("broken %s: the reader in plain Go accepts it", c.ID)
			}
			return e.file(c, ".h5", b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const hdf5Refusals = "hdf5/refuse/"

// eachBrokenHDF5 calls f with every change that fits a field of a vector of dir. Of fields with the
// same path, except for indexes, it uses the first.
func eachBrokenHDF5(dir string, base Case, f func(c Case, b []byte) error) error {
	whole, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(base.Path)))
	if err != nil {
		return err
	}
	directory := hdf5Refusals + strings.Join(strings.Split(base.ID, "/")[1:], "-") + "/"
	add := func(name, rule, section string, b []byte) {
		c := Case{ID: directory + name, Area: "hdf5", Object: base.Object, Must: Refuse, Rule: rule, Section: section, Params: map[string]string{"base": base.ID}}
		err = errors.Join(err, f(c, b))
	}
	done := make(map[string]bool)
	root := h5file.Describe(bytes.NewReader(whole), int64(len(whole)))
	walkFields(root, "", nil, func(path string, f format.Field, above []format.Field) {
		for _, br := range hdf5Breaks {
			plain := indexes.ReplaceAllString(path, "")
			name := slug(plain) + "-" + br.name
			if !br.fields.MatchString(path) || done[name] {
				continue
			}
			done[name] = true
			b := bytes.Clone(whole)
			br.change(b[f.Offset:f.Offset+f.Length], len(b))
			if bytes.Equal(b, whole) {
				continue
			}
			if f.Name != "checksum" {
				holdChecksums(b, whole, above)
			}
			add(name, br.rule, hdf5Document+": "+strings.ReplaceAll(plain, "/", ", "), b)
		}
	})
	for _, x := range []struct {
		name string
		n    int
	}{{"cut-half", len(whole) / 2}, {"cut-last-byte", len(whole) - 1}, {"cut-superblock", 40}, {"empty", 0}} {
		add(x.name, "truncated file", hdf5Document+": II.A, end of file address", whole[:x.n])
	}
	return err
}

// checkHDF5 checks a file with package internal/format/h5file under a policy that allows everything
// the vectors use.
func checkHDF5(b []byte) error {
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return err
	}
	p := h5file.Policy{ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true}
	for _, x := range hdf5Filters {
		for _, step := range x.steps {
			p.Filters = append(p.Filters, h5file.FilterID(step.ID))
		}
	}
	return f.Check(p)
}

// walkFields calls f with every field without parts. Messages are named by their type.
func walkFields(field format.Field, path string, above []format.Field, f func(path string, field format.Field, above []format.Field)) {
	above = append(above, field)
	for _, part := range field.Fields {
		name := part.Name
		if strings.HasPrefix(name, "message ") && part.Value != "" {
			name += "/" + part.Value
		}
		if path != "" {
			name = path + "/" + name
		}
		if len(part.Fields) == 0 && part.Length > 0 {
			f(name, part, above)
			continue
		}
		walkFields(part, name, above, f)
	}
}

// indexes matches the numbers after the names of repeated fields.
var indexes = regexp.MustCompile(` \d+\b`)

// punctuation matches the characters of a field name that cannot be part of a case ID.
var punctuation = regexp.MustCompile(`[^A-Za-z0-9]+`)

func slug(name string) string { return strings.Trim(punctuation.ReplaceAllString(name, "_"), "_") }

// holdChecksums updates the checksums of the structures around a changed field, innermost first, so
// that only the field is wrong.
func holdChecksums(b, whole []byte, above []format.Field) {
	for i := len(above) - 1; i >= 0; i-- {
		for _, part := range above[i].Fields {
			from, to := above[i].Offset, part.Offset
			if part.Name == "checksum" && part.Length == 4 && binary.LittleEndian.Uint32(whole[to:]) == h5file.Lookup3(whole[from:to]) {
				binary.LittleEndian.PutUint32(b[to:], h5file.Lookup3(b[from:to]))
			}
		}
	}
}
