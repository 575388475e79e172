package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// seedsVariable names the environment variable that sets how many random files the test makes.
const seedsVariable = "HYPERSLAB_UNUSUAL_SEEDS"

// unusualSeeds is the number of random files in the normal tests.
const unusualSeeds = 8

// comparison is a task of unusual_hdf5.py: compare two files.
type comparison struct {
	Command string `json:"-"` // the command that wrote Got

	Want  string      `json:"want"`
	Got   string      `json:"got"`
	Pairs [][2]string `json:"pairs,omitempty"`

	WholeFile    bool     `json:"whole_file"`   // also compare user blocks
	Whole        bool     `json:"whole"`        // committed datatypes must have the same paths
	References   bool     `json:"references"`   // references must refer to the same objects
	ValuesOnly   bool     `json:"values_only"`  // ignore the storage, for example chunks and filters
	Recompressed bool     `json:"recompressed"` // chunks and filters may differ
	Ignore       []string `json:"ignore_links,omitempty"`

	Via  string   `json:"via,omitempty"`  // for a conversion: hdf5 or tree
	Lost []string `json:"lost,omitempty"` // for a conversion: items reported as lost
}

// unusual runs a Python program of testdata that needs the given modules, and returns its output.
func unusual(t *testing.T, program string, modules []string, stdin []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(testenv.Python(t, modules...), append([]string{"testdata/" + program}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.Bytes())
	return out
}

// unusualSamples returns the number of random files and the program arguments that create them in
// dir.
func unusualSamples(dir string) (seeds int, args []string) {
	seeds = unusualSeeds
	if n, err := strconv.Atoi(os.Getenv(seedsVariable)); err == nil {
		seeds = n
	}
	args = []string{"make", dir}
	for i := range seeds {
		args = append(args, strconv.Itoa(i+1))
	}
	return seeds, args
}

// TestUnusualHDF5 creates random files with rarely tested features: variable-length strings with
// fill values, compounds of them, references, equal committed datatypes, attributes over 64 KiB,
// virtual datasets, external files, dimension scales, unusual names and user blocks. It then runs
// every command that writes HDF5, and compares the result with the source through h5py and h5diff.
func TestUnusualHDF5(t *testing.T) {
	dir := t.TempDir()
	seeds, args := unusualSamples(dir)
	python := func(stdin []byte, args ...string) []byte {
		return unusual(t, "unusual_hdf5.py", []string{"h5py"}, stdin, args...)
	}
	python(nil, args...)
	diff := testenv.Tool(t, "h5diff")

	var tasks []comparison
	for i := range seeds {
		name := strconv.Itoa(i+1) + ".h5"
		source := filepath.Join(dir, name)
		sub := filepath.Join(dir, "out", strconv.Itoa(i+1))
		require.NoError(t, os.MkdirAll(sub, 0o777))
		out := func(what string) string { return filepath.Join(sub, what+".h5") }
		do := func(args ...string) {
			t.Helper()
			_, stderr, code := run(args...)
			require.Zero(t, code, "%s: %s", strings.Join(args, " "), stderr)
		}
		add := func(c comparison) {
			c.Want = source
			tasks = append(tasks, c)
		}
		all := comparison{WholeFile: true, Whole: true, References: true}
		with := func(command, got string, edit func(c *comparison)) {
			c := all
			c.Command, c.Got = command, got
			if edit != nil {
				edit(&c)
			}
			add(c)
		}

		do("repack", "-q", source, out("repack"))
		with("repack", out("repack"), nil)
		do("repack", "-q", source, out("recompress"), "--codec", "deflate", "--level", "9")
		with("repack --codec", out("recompress"), func(c *comparison) { c.Recompressed = true })
		// cp of a file keeps relative names of other files. The copy must be in the directory of
		// the source because the names would not resolve elsewhere.
		do("cp", source, filepath.Join(dir, "copy"+name))
		with("cp of the file", filepath.Join(dir, "copy"+name), nil)

		do("cp", "-f", source, filepath.Join(dir, "edit"+name))
		edited := filepath.Join(dir, "edit"+name)
		create[int32](t, filepath.Join(dir, "one"+name)+":/grow", ndarray.Spec{Shape: []int64{3}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{2}}, []int32{1, 2, 3})
		do("cp", filepath.Join(dir, "one"+name)+":/grow", edited+":/grow")
		do("append", "-q", filepath.Join(dir, "one"+name)+":/grow", edited+":/grow")
		do("attr", "set", edited+":/grow", "added", "5")
		do("attr", "rm", edited+":/grow", "added")
		do("rm", edited+":/grow")
		with("cp, append, attr, rm", edited, nil)

		do("recover", source, filepath.Join(dir, "recover"+name))
		with("recover", filepath.Join(dir, "recover"+name), nil)

		convert := func(from, to string) []string {
			t.Helper()
			stdout, stderr, code := run("convert", "--json", from, to, "--exclude-unsupported")
			require.Zero(t, code, "convert %s %s: %s", from, to, stderr)
			var doc struct{ Lost []string }
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			return doc.Lost
		}
		lost := convert(source, out("convert"))
		with("convert", out("convert"), func(c *comparison) {
			*c = comparison{Command: c.Command, Got: c.Got, Via: "hdf5", Lost: lost, Whole: true, References: true}
		})
		lost = convert(source, filepath.Join(sub, "tree"))
		lost = append(lost, convert(filepath.Join(sub, "tree"), out("back"))...)
		with("convert to b2nd and back", out("back"), func(c *comparison) { *c = comparison{Command: c.Command, Got: c.Got, Via: "tree", Lost: lost} })

		copyMembers(t, source, out("members"), do, add)
	}
	for _, c := range tasks {
		if !c.WholeFile {
			continue
		}
		// Compare only if h5diff can compare the source with itself, because h5diff fails on some
		// of the files.
		_, same := exec.Command(diff, "-q", c.Want, c.Want).CombinedOutput()
		if same == nil && c.Command != "repack --codec" {
			text, err := exec.Command(diff, "--exclude-path", "/other", c.Want, c.Got).CombinedOutput() // excludes an external link, whose file name was rewritten
			require.NoError(t, err, "%s: h5diff %s %s: %s", c.Command, c.Want, c.Got, text)
		}
	}
	in, err := json.Marshal(tasks)
	require.NoError(t, err)
	var found [][]string
	require.NoError(t, json.Unmarshal(python(in, "compare"), &found))
	require.Len(t, found, len(tasks))
	for i, list := range found {
		for _, text := range list {
			t.Errorf("%s: %s: %s", tasks[i].Command, filepath.Base(tasks[i].Want), text)
		}
	}
}

// copyMembers copies each object of the root group on its own, with cp and with CopyObject of
// package h5. CopyObject must return an error for objects that it cannot copy.
func copyMembers(t *testing.T, source, target string, do func(args ...string), add func(comparison)) {
	t.Helper()
	f, err := h5.Open(source, h5.ReadOnly)
	require.NoError(t, err)
	var members []h5.Link
	for l, err := range f.Root().Links() {
		require.NoError(t, err)
		if l.Kind == h5.HardLink && !strings.ContainsAny(l.Name, ":[]\\\t") && !strings.HasPrefix(l.Name, ".") {
			members = append(members, l)
		}
	}
	require.NoError(t, f.Close())
	byCp := comparison{Command: "cp of objects", Got: target, ValuesOnly: true}
	for i, l := range members {
		as := "/copies/" + strconv.Itoa(i+1)
		do("cp", source+":/"+l.Name, target+":"+as)
		byCp.Pairs = append(byCp.Pairs, [2]string{"/" + l.Name, as})
	}
	add(byCp)

	// Open the source only after cp has finished: libhdf5 keeps pointers to a closed handle of a
	// file that is open twice.
	f, err = h5.Open(source, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	library := strings.TrimSuffix(target, ".h5") + "-library.h5"
	to, err := h5.Create(library, nil)
	require.NoError(t, err)
	byLibrary := comparison{Command: "CopyObject", Got: library, ValuesOnly: true}
	for i, l := range members {
		if l.Name == "virtual" { // libhdf5 keeps the names of its source files
			continue
		}
		if f.Root().CopyObject(l.Name, to.Root(), strconv.Itoa(i+1), nil) == nil {
			byLibrary.Pairs = append(byLibrary.Pairs, [2]string{"/" + l.Name, "/" + strconv.Itoa(i+1)})
		}
	}
	require.NoError(t, to.Close())
	if len(byLibrary.Pairs) > 0 {
		add(byLibrary)
	}
}

// TestConvert_properties checks that attributes keep their creation order in formats that store a
// sequence of attributes. Properties that the target does not have must be reported, unless they
// have their default value.
func TestConvert_properties(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := h5.Create("p.h5", nil)
	require.NoError(t, err)
	order := []string{"z", "a", "m"}
	for name, o := range map[string]*h5.DatasetOptions{
		"ordinary": {ChunkShape: []int64{2}}, "compact": {Compact: true}, "early": {Alloc: h5.AllocEarly}, "order": {AttributeOrder: h5.TrackCreationOrder},
	} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(4), o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []int32{1, 2, 3, 4}, h5.All))
		for i, attr := range order {
			require.NoError(t, h5value.WriteAttr(d, attr, []int32{int32(i)}, h5.ScalarSpace()))
		}
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	lost := func(args ...string) []string {
		t.Helper()
		var doc struct{ Lost []string }
		require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"convert", "--json"}, args...)...)), &doc))
		return doc.Lost
	}
	names := func(address string) (names []string) {
		t.Helper()
		var doc struct{ Attributes []struct{ Name string } }
		require.NoError(t, json.Unmarshal([]byte(done(t, "attr", "list", "--json", address)), &doc))
		for _, a := range doc.Attributes {
			names = append(names, a.Name)
		}
		return names
	}
	for name, want := range map[string]string{"ordinary": "", "compact": "layout (compact)", "early": "allocation (early)", "order": ""} {
		for _, format := range []string{"b2nd", "bcolz"} {
			target := name + "." + format
			reported := lost("p.h5:/"+name, target)
			if want == "" {
				require.Empty(t, reported, target)
			} else {
				require.Len(t, reported, 1, target)
				require.Contains(t, reported[0], want)
			}
			if name == "order" {
				require.Equal(t, order, names(target), target)
			}
		}
	}
	require.Len(t, lost("p.h5", "tree"), 2)
	require.Equal(t, order, names("tree:/order"))
	require.Empty(t, lost("p.h5", "whole.h5"))
	reported := lost("p.h5:/order", "one.h5:/order")
	require.Len(t, reported, 1)
	require.Contains(t, reported[0], "creation order of attributes (z, a, m)")
}
