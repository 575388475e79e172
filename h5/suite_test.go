package h5_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func findFiles(t testing.TB, dir, ext string) []string {
	t.Helper()
	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ext) && d.Type().IsRegular() {
			files = append(files, p)
		}
		return err
	}))
	require.NotEmpty(t, files)
	return files
}

// A visit contains functions that are called once for each object, attribute and error in a file.
type visit struct {
	dataset   func(path string, d *h5.Dataset, info h5.DatasetInfo)
	attribute func(path string, a h5.AttributeInfo, value h5.Attribute, err error)
	failure   func(path string, err error)
}

func (v visit) file(p string) error {
	f, err := h5.Open(p, h5.ReadOnly)
	if err != nil {
		return err
	}
	defer f.Close()
	v.group(f.Root(), map[uint64]bool{})
	return nil
}

func (v visit) group(g *h5.Group, seen map[uint64]bool) {
	attributes(v, g.Path(), g)
	for l, err := range g.Links() {
		if err != nil {
			v.failure(g.Path(), err)
			return
		}
		if l.Kind != h5.HardLink || seen[l.Address] {
			continue
		}
		seen[l.Address] = true
		p := path.Join(g.Path(), l.Name)
		kind, err := g.Kind(l.Name)
		if err != nil {
			v.failure(p, err)
			continue
		}
		switch kind {
		case h5.GroupObject:
			child, err := g.OpenGroup(l.Name)
			if err != nil {
				v.failure(p, err)
				continue
			}
			v.group(child, seen)
			_ = child.Close()
		case h5.DatasetObject:
			d, err := g.OpenDataset(l.Name)
			if err != nil {
				v.failure(p, err)
				continue
			}
			attributes(v, p, d)
			if info, err := d.Info(); err != nil {
				v.failure(p, err)
			} else {
				v.dataset(p, d, info)
			}
			_ = d.Close()
		case h5.DatatypeObject:
			if _, err := g.CommittedDatatype(l.Name); err != nil {
				v.failure(p, err)
			}
		}
	}
}

func attributes(v visit, p string, o interface {
	Attributes() iter.Seq2[h5.AttributeInfo, error]
	ReadAttribute(string) (h5.Attribute, error)
}) {
	for a, err := range o.Attributes() {
		if err != nil {
			v.failure(p, err)
			return
		}
		value, err := o.ReadAttribute(a.Name)
		v.attribute(p, a, value, err)
	}
}

// littleEndian returns the type in which h5dump -b LE writes numbers.
func littleEndian(t h5.Datatype) h5.Datatype {
	t = t.Native()
	t.Order = h5.LittleEndian
	return t
}

// TestLibrarysOwnFiles visits all objects in the test files of libhdf5. Every type, shape and
// number must agree with h5dump's output, and objects that cannot be read must return an error of
// this package.
func TestLibrarysOwnFiles(t *testing.T) {
	h5dump := testenv.Tool(t, "h5dump")
	files := findFiles(t, filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools", "test"), ".h5")
	var opened, refused, datasets, compared, numbers, attrs, values int
	for _, file := range files {
		dumped := map[string]bool{}
		var dump []byte
		var dumpErr error
		if filepath.Base(file) != "h5stat_newgrat.h5" { // 35,000 groups, for which h5dump takes half a minute
			dump, dumpErr = exec.Command(h5dump, "-H", file).Output()
		}
		headers := parseHeaders(string(dump))
		v := visit{
			failure: func(p string, err error) {
				var e *h5.Error
				require.ErrorAs(t, err, &e, "%s %s", file, p)
			},
			attribute: func(p string, a h5.AttributeInfo, value h5.Attribute, err error) {
				attrs++
				require.NoError(t, err, "%s %s@%s", file, p, a.Name)
				require.True(t, value.Space.Equal(a.Space))
				if a.Datatype.Plain() || a.Datatype.Class == h5.String {
					return
				}
				natural, err := h5value.Decode[any](value.Values)
				require.NoError(t, err, "%s %s@%s", file, p, a.Name)
				require.Len(t, natural, int(a.Space.NumElems()))
				again, err := h5value.Encode(a.Datatype, natural)
				require.NoError(t, err, "%s %s@%s", file, p, a.Name)
				back, err := h5value.Decode[any](again)
				require.NoError(t, err, "%s %s@%s", file, p, a.Name)
				require.Equal(t, natural, back)
				values++
			},
			dataset: func(p string, d *h5.Dataset, info h5.DatasetInfo) {
				datasets++
				if want, ok := headers[p]; ok && !strings.Contains(want.datatype, `"/`) && !strings.HasPrefix(want.datatype, `"`) {
					compared++
					require.Equal(t, want.datatype, info.Datatype.String(), "%s %s", file, p)
					require.Equal(t, want.space, info.Space.String(), "%s %s", file, p)
				}
				numbers += compareData(t, h5dump, file, p, d, info, dumped)
			},
		}
		if err := v.file(file); err != nil {
			var e *h5.Error
			require.ErrorAs(t, err, &e)
			require.True(t, dumpErr != nil || len(headers) == 0, "h5dump reads %s, and we say %v", file, err)
			refused++
			continue
		}
		opened++
	}
	t.Logf("%d files: %d opened, %d refused by h5dump too; %d datasets, %d compared with h5dump's types and shapes, %d with its numbers; %d attributes, %d of them more than bytes or strings",
		len(files), opened, refused, datasets, compared, numbers, attrs, values)
	require.Greater(t, compared, 500)
	require.Greater(t, numbers, 300)
}

// compareData reads a dataset of at most 1 Mi elements and compares the numbers with h5dump's. It
// compares only one dataset of each type, layout and pipeline in a file, because each needs an
// h5dump process. It returns the number of compared datasets.
func compareData(t *testing.T, h5dump, file, p string, d *h5.Dataset, info h5.DatasetInfo, dumped map[string]bool) int {
	t.Helper()
	n := info.Space.NumElems()
	if n <= 0 || n > 1<<20 {
		return 0
	}
	all := info.Space.All()
	if info.Datatype.Class == h5.String {
		_, err := readStrings(d, all)
		typed(t, file, p, err)
		return 0
	}
	if !info.Datatype.Plain() {
		err := d.ReadRegion(nil, info.Datatype, all)
		require.ErrorIs(t, err, h5.ErrType)
		return 0
	}
	mem := info.Datatype.Native()
	number := mem.Class == h5.Integer || mem.Class == h5.Float
	if number {
		mem = littleEndian(info.Datatype)
	}
	buf := make([]byte, int(n)*mem.Size)
	if err := d.ReadRegion(buf, mem, all); err != nil {
		typed(t, file, p, err)
		return 0
	}
	if !number || info.Datatype.Order == h5.VAX || strings.ContainsAny(p, ` "`) {
		return 0
	}
	kind := fmt.Sprint(info.Datatype, info.Layout, info.Index, info.Filters, len(info.Space.Dims))
	if dumped[kind] {
		return 0
	}
	dumped[kind] = true
	out := filepath.Join(t.TempDir(), "out")
	if err := exec.Command(h5dump, "-y", "-d", p, "-b", "LE", "-o", out, file).Run(); err != nil {
		return 0
	}
	want, err := os.ReadFile(out)
	require.NoError(t, err)
	if len(want) != len(buf) {
		return 0 // h5dump writes unusual sizes differently
	}
	require.True(t, bytes.Equal(want, buf), "%s %s: numbers differ from h5dump's", file, p)
	return 1
}

// typed checks that an error is an *Error with a cause.
func typed(t *testing.T, file, p string, err error) {
	t.Helper()
	var e *h5.Error
	if err != nil && (!errors.As(err, &e) || (len(e.Stack) == 0 && e.Err == nil)) {
		t.Errorf("%s %s: %v", file, p, err)
	}
}

type header struct{ datatype, space string }

// ddlKeyword contains the words that end a type or a shape.
var ddlKeyword = map[string]bool{
	"DATASPACE": true, "DATATYPE": true, "DATASET": true, "GROUP": true, "ATTRIBUTE": true, "COMMENT": true, "HARDLINK": true,
	"SOFTLINK": true, "EXTERNAL_LINK": true, "USERDEFINED_LINK": true, "}": true,
}

// parseHeaders returns the types and shapes of datasets in the output of h5dump -H by path.
func parseHeaders(dump string) map[string]header {
	found := map[string]header{}
	words := strings.Fields(dump)
	var stack []string // the path, "" for blocks without a name
	text := func(from int) (string, int) {
		depth := 0
		for i := from; i < len(words); i++ {
			depth += strings.Count(words[i], "{") - strings.Count(words[i], "}")
			if depth == 0 && (i+1 == len(words) || ddlKeyword[words[i+1]]) {
				return strings.Join(words[from:i+1], " "), i
			}
		}
		return "", len(words)
	}
	name := ""
	var now header
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case (w == "GROUP" || w == "DATASET") && i+2 < len(words) && words[i+2] == "{":
			name = strings.Trim(words[i+1], `"`)
			if w == "DATASET" {
				now = header{}
			}
			stack = append(stack, name)
			i += 2
		case w == "ATTRIBUTE":
			_, i = text(i + 1)
		case w == "DATATYPE" && len(stack) > 0:
			now.datatype, i = text(i + 1)
		case w == "DATASPACE" && len(stack) > 0:
			now.space, i = text(i + 1)
			found["/"+strings.TrimPrefix(path.Join(stack...), "/")] = now
		case strings.Contains(w, "{"):
			stack = append(stack, "")
		case strings.Contains(w, "}") && len(stack) > 0:
			stack = stack[:len(stack)-1]
		}
	}
	return found
}

// TestMissingFilters reads files with filters that this package does not include. Everything except
// the elements must be readable, and the error must name the filter.
func TestMissingFilters(t *testing.T) {
	dir := testenv.Directory(t, testenv.Corpus)
	names := map[int]bool{}
	read := 0
	for _, file := range append(findFiles(t, filepath.Join(dir, "hdf5-filters"), ".h5"), findFiles(t, filepath.Join(dir, "caterva2"), ".h5")...) {
		v := visit{
			failure:   func(p string, err error) { t.Errorf("%s %s: %v", file, p, err) },
			attribute: func(string, h5.AttributeInfo, h5.Attribute, error) {},
			dataset: func(p string, d *h5.Dataset, info h5.DatasetInfo) {
				if !info.Datatype.Plain() || info.Space.NumElems() == 0 || info.Space.NumElems() > 1<<22 {
					return
				}
				mem := info.Datatype.Native()
				err := d.ReadRegion(make([]byte, int(info.Space.NumElems())*mem.Size), mem, info.Space.All())
				if err == nil {
					read++
					return
				}
				require.ErrorIs(t, err, h5.ErrNoFilter, "%s %s", file, p)
				var fe *h5.FilterError
				require.ErrorAs(t, err, &fe)
				names[fe.ID] = true
				found := false
				for _, f := range info.Filters {
					found = found || (f.ID == fe.ID && f.Name == fe.Name)
				}
				require.True(t, found, "%s %s: %v is not in %v", file, p, fe, info.Filters)
			},
		}
		require.NoError(t, v.file(file))
	}
	require.Equal(t, map[int]bool{32001: true, 32008: true, 32026: true}, names)
	t.Logf("%d datasets read", read)
}
