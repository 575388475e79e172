// Tests of elements that refer to other data, and of datasets with elements in other files.

package recovery_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// saveValues writes a file with elements and attributes of every type that refers to other data, in
// every layout. It also contains datasets whose elements are in other files.
func saveValues(t *testing.T, low h5.LibVer) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	root := f.Root()
	var open []*h5.Dataset
	make1 := func(name string, dt h5.Datatype, space h5.Dataspace, o *h5.DatasetOptions) *h5.Dataset {
		d, err := root.CreateDataset(name, dt, space, o)
		require.NoError(t, err, name)
		open = append(open, d)
		return d
	}
	i4 := h5.Int(4, h5.BigEndian)
	// The tests corrupt the header of this group.
	g, err := root.CreateGroup("victim")
	require.NoError(t, err)
	require.NoError(t, g.LinkSoft("a", "/b"))
	require.NoError(t, g.Close())
	numbers := make1("numbers", i4, h5.SimpleSpace(6, 5), nil)
	v := make([]int32, 30)
	for i := range v {
		v[i] = int32(i * i)
	}
	require.NoError(t, h5value.Write(numbers, v, h5.All))
	require.NoError(t, h5value.WriteAttr(numbers, "units", []string{"m"}))

	sequences := [][]int32{{1, 2, 3}, {}, {4}, {5, 6}, nil}
	seq := make1("sequences", h5.SequenceOf(i4), h5.SimpleSpace(5), nil)
	require.NoError(t, h5value.Write(seq, sequences, h5.All))
	level := 3
	chunked := make1("chunked sequences", h5.SequenceOf(i4), h5.SimpleSpace(5), &h5.DatasetOptions{ChunkShape: []int64{2}, Deflate: &level})
	require.NoError(t, h5value.Write(chunked, sequences, h5.All))
	nested := make1("sequences of texts", h5.SequenceOf(h5.VariableString(h5.UTF8)), h5.SimpleSpace(2), &h5.DatasetOptions{Compact: true})
	require.NoError(t, h5value.Write(nested, [][]string{{"a", "bc"}, {"", "größe"}}, h5.All))

	type record struct {
		Name string  `h5:"name"`
		X    float64 `h5:"x"`
		Many []int16 `h5:"many"`
		To   h5.Ref  `h5:"to"`
		Y    int8    `h5:"y"`
	}
	refs := map[h5.ReferenceKind]h5.Datatype{}
	for _, k := range []h5.ReferenceKind{h5.ObjectReference, h5.RegionReference, h5.StandardReference} {
		refs[k] = h5.ReferenceType(k)
	}
	// The reference precedes its target in the file.
	early := make1("early", refs[h5.ObjectReference], h5.SimpleSpace(4), nil)
	later := make1("later", i4, h5.SimpleSpace(3), nil)
	require.NoError(t, h5value.Write(later, []int32{7, 8, 9}, h5.All))
	ref := func(name string, k h5.ReferenceKind) h5.Ref {
		r, err := root.Reference(name, k)
		require.NoError(t, err)
		return r
	}
	require.NoError(t, h5value.Write(early, []h5.Ref{ref("later", h5.ObjectReference), ref("/", h5.ObjectReference), {}, ref("victim", h5.ObjectReference)}, h5.All))
	region := func(k h5.ReferenceKind, s h5.Selection) h5.Ref {
		r, err := root.ReferenceRegion("numbers", k, s)
		require.NoError(t, err)
		return r
	}
	regions := make1("regions", refs[h5.RegionReference], h5.SimpleSpace(4), nil)
	require.NoError(t, h5value.Write(regions, []h5.Ref{
		region(h5.RegionReference, h5.Region{Start: []int64{1, 1}, Count: []int64{2, 3}}),
		region(h5.RegionReference, h5.Points{{0, 0}, {5, 4}}), {},
		region(h5.RegionReference, h5.All),
	}, h5.All))
	if low != h5.Earliest {
		attribute, err := root.ReferenceAttribute("numbers", "units")
		require.NoError(t, err)
		std := make1("standard", refs[h5.StandardReference], h5.SimpleSpace(4), nil)
		require.NoError(t, h5value.Write(std, []h5.Ref{
			ref("later", h5.StandardReference), {}, attribute,
			region(h5.StandardReference, h5.Region{Start: []int64{0, 0}, Count: []int64{2, 2}, Stride: []int64{3, 2}}),
		}, h5.All))
	}
	dt, err := h5value.DatatypeFor[record]()
	require.NoError(t, err)
	records := make1("records", dt, h5.SimpleSpace(2), nil)
	require.NoError(t, h5value.Write(records, []record{{"one", 1.5, []int16{1, 2}, ref("later", h5.ObjectReference), -1}, {"", 2, nil, h5.Ref{}, 3}}, h5.All))
	require.NoError(t, h5value.WriteAttr(records, "to", []h5.Ref{ref("later", h5.ObjectReference), ref("early", h5.ObjectReference)}))
	require.NoError(t, h5value.WriteAttr(records, "lists", [][]float32{{1}, {2, 3}}))
	require.NoError(t, h5value.WriteAttr(records, "mixed", []record{{"x", 3, []int16{9}, ref("numbers", h5.ObjectReference), 4}}))

	outside := filepath.Join(filepath.Dir(path), "outside.bin")
	require.NoError(t, os.WriteFile(outside, bytes.Repeat([]byte{1, 2, 3, 4}, 6), 0o600))
	make1("external", i4, h5.SimpleSpace(5), &h5.DatasetOptions{External: []h5.ExternalFile{{Name: outside, Offset: 4, Size: h5.Unlimited}}})
	if low != h5.Earliest {
		make1("virtual", i4, h5.SimpleSpace(4, 5), &h5.DatasetOptions{Mappings: []h5.Mapping{
			{Region: h5.Region{Start: []int64{0, 0}, Count: []int64{2, 5}}, File: ".", Dataset: "/numbers", Source: h5.SimpleSpace(6, 5), SourceRegion: h5.Region{Start: []int64{3, 0}, Count: []int64{2, 5}}},
			{Region: h5.Region{Start: []int64{2, 0}, Count: []int64{2, 5}}, File: ".", Dataset: "/numbers", Source: h5.SimpleSpace(6, 5), SourceRegion: h5.Region{Start: []int64{0, 0}, Count: []int64{2, 5}}},
		}})
	}
	for _, d := range open {
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	return path
}

// damageGroup corrupts a file so that it must be recovered object by object.
func damageGroup(t *testing.T, path string) {
	t.Helper()
	o := hdf5test.Object(t, path, "/victim")
	change(t, path, func(b []byte) []byte { b[o.Addr+5] ^= 0xFF; b[o.Addr] ^= 0xFF; return b })
}

// requireNoDamage is like requireSound, but ignores elements in other files.
func requireNoDamage(t *testing.T, path string) {
	t.Helper()
	v, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.Empty(t, v.Damages)
}

// readBack returns the values of datasets and of their attributes.
func readBack(t *testing.T, path string, names ...string) map[string]any {
	t.Helper()
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	out := map[string]any{}
	for _, name := range names {
		d, err := f.Root().OpenDataset(name)
		require.NoError(t, err, name)
		v, err := h5value.ReadAll[any](d)
		require.NoError(t, err, name)
		out[name] = plainly(t, f, v)
		for a, err := range d.Attributes() {
			require.NoError(t, err)
			v, err := h5value.ReadAttr[any](d, a.Name)
			require.NoError(t, err)
			out[name+"@"+a.Name] = plainly(t, f, v)
		}
		require.NoError(t, d.Close())
	}
	return out
}

// plainly replaces references by their targets, because the numbers in references differ between
// files.
func plainly(t *testing.T, f *h5.File, v any) any {
	t.Helper()
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plainly(t, f, x[i])
		}
		return out
	case h5value.Record:
		out := map[string]any{}
		for _, m := range x {
			out[m.Name] = plainly(t, f, m.Value)
		}
		return out
	case h5.Ref:
		if x.IsNull() {
			return nil
		}
		to, err := f.Resolve(x)
		require.NoError(t, err)
		to.Token, to.Address = h5.Token{}, 0 // they differ in a copy
		return to
	}
	return v
}

var pointing = []string{"numbers", "sequences", "chunked sequences", "sequences of texts", "early", "later", "regions", "records", "external"}

func TestHDF5_foreignPointers(t *testing.T) {
	for name, low := range versions {
		t.Run(name, func(t *testing.T) {
			src := saveValues(t, low)
			names := pointing
			if low != h5.Earliest {
				names = append([]string{"standard", "virtual"}, names...)
			}
			outside := content(t, filepath.Dir(src))[filepath.Join(filepath.Dir(src), "outside.bin")]
			want := readBack(t, src, names...)
			damageGroup(t, src)
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitPartly, r.ExitCode())
			got := readBack(t, dst, names...)
			// Only references to the lost group must be null.
			early := want["early"].([]any)
			require.NotNil(t, early[3])
			early[3] = nil
			require.Equal(t, want, got, "%v", r.Findings)
			lost := 0
			for _, x := range r.Findings {
				if x.Certainty == recovery.Lost && x.Object == "/early" {
					lost++
				}
			}
			require.Equal(t, 1, lost, "%v", r.Findings)
			requireNoDamage(t, dst)
			require.Equal(t, outside, content(t, filepath.Dir(src))[filepath.Join(filepath.Dir(src), "outside.bin")])
		})
	}
}

// TestHDF5_SequenceHeap checks sequences in a corrupt global heap. All are lost if the signature is
// missing. All are guessed if the version is invalid. If one object is missing, only its sequence
// is lost.
func TestHDF5_SequenceHeap(t *testing.T) {
	for name, c := range map[string]struct {
		damage        func(b []byte)
		guessed, lost bool
	}{
		"gone":    {func(b []byte) { clear(b[:16]) }, false, true},
		"version": {func(b []byte) { b[4] = 9 }, true, false},
		"object":  {func(b []byte) { b[16] = 77 }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.h5")
			f, err := h5.Create(path, nil)
			require.NoError(t, err)
			d, err := f.Root().CreateDataset("x", h5.SequenceOf(h5.Int(4, h5.LittleEndian)), h5.SimpleSpace(3), nil)
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, [][]int32{{1, 2}, {3}, {4, 5, 6}}, h5.All))
			require.NoError(t, d.Close())
			require.NoError(t, f.Close())
			change(t, path, func(b []byte) []byte { c.damage(b[bytes.Index(b, []byte("GCOL")):]); return b })
			dst, r := recovered(t, path, nil)
			require.Equal(t, recovery.ExitPartly, r.ExitCode())
			require.Equal(t, c.guessed, r.Guessed > 0, "%v", r.Findings)
			require.Equal(t, c.lost, r.Lost > 0, "%v", r.Findings)
			requireSound(t, dst)
			f, err = h5.Open(dst, h5.ReadOnly)
			require.NoError(t, err)
			d, err = f.Root().OpenDataset("x")
			require.NoError(t, err)
			got, err := h5value.ReadAll[[]int32](d)
			require.NoError(t, err)
			switch name {
			case "gone":
				require.Equal(t, [][]int32{{}, {}, {}}, got)
			case "version":
				require.Equal(t, [][]int32{{1, 2}, {3}, {4, 5, 6}}, got)
			case "object":
				require.Equal(t, [][]int32{{}, {3}, {4, 5, 6}}, got)
			}
			require.NoError(t, d.Close())
			require.NoError(t, f.Close())
		})
	}
}

// TestHDF5_LostSources destroys the source list of a virtual dataset and the names of external
// files. These two datasets must be lost, and no other.
func TestHDF5_LostSources(t *testing.T) {
	src := saveValues(t, h5.V110)
	l := hdf5test.Object(t, src, "/virtual").Layout()
	require.Equal(t, h5file.Virtual, l.Class)
	heap := hdf5test.Object(t, src, "/external").ExternalFiles().Heap
	change(t, src, func(b []byte) []byte {
		clear(b[l.Heap : l.Heap+8])
		clear(b[heap : heap+8])
		return b
	})
	dst, r := recovered(t, src, nil)
	requireNoDamage(t, dst)
	lost := map[string]bool{}
	for _, x := range r.Findings {
		if x.Certainty == recovery.Lost && x.What == "dataset" {
			lost[x.Object] = true
		}
	}
	require.Equal(t, map[string]bool{"/virtual": true, "/external": true}, lost, "%v", r.Findings)
	require.Contains(t, readBack(t, dst, "numbers"), "numbers@units")
}

// TestHDF5_foreignReferences checks that references into other files are lost when the file is
// rewritten, because a new file with another name cannot resolve them.
func TestHDF5_foreignReferences(t *testing.T) {
	file := testenv.Files(t, testenv.HDF5Source, "tools/test/h5dump/testfiles/trefer_ext2.h5")[0]
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	src := filepath.Join(t.TempDir(), "a.h5")
	require.NoError(t, os.WriteFile(src, b, 0o600))
	_, r := recovered(t, src, nil) // the unchanged file
	require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
	clear(b[:8])
	require.NoError(t, os.WriteFile(src, b, 0o600))
	dst, r := recovered(t, src, &recovery.Options{Format: detect.HDF5})
	require.Equal(t, recovery.ExitPartly, r.ExitCode())
	requireNoDamage(t, dst)
	reported := false
	for _, x := range r.Findings {
		reported = reported || x.Certainty == recovery.Lost && strings.Contains(x.Err.Error(), "a reference into the file") && strings.Contains(x.Err.Error(), "trefer_ext1.h5")
	}
	require.True(t, reported, "%v", r.Findings)
	require.Positive(t, r.Lost+r.LostObjects)
}

// irregular creates a virtual dataset v that maps a selection of src that is not a hyperslab, and a
// dataset whole that maps all of src.
const irregular = `
import sys, numpy, h5py
with h5py.File(sys.argv[1], "w", libver=("v110", "latest")) as f:
    f["src"] = numpy.arange(10, dtype="<i4")
    f.create_group("victim")["a"] = h5py.SoftLink("/b")
    def virtual(name, n, *boxes):
        s, v = h5py.h5s.create_simple((10,)), h5py.h5s.create_simple((n,))
        s.select_none()
        for start, count in boxes:
            s.select_hyperslab((start,), (count,), op=h5py.h5s.SELECT_OR)
        v.select_all()
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        p.set_virtual(v, b".", b"/src", s)
        h5py.h5d.create(f.id, name, h5py.h5t.STD_I32LE, v, p)
    virtual(b"v", 5, (0, 2), (6, 3))
    virtual(b"whole", 10, (0, 10))
`

// TestIrregularSources checks a virtual dataset with a source selection that is not a hyperslab.
// The source is kept in a file that need not be rewritten. Otherwise it is lost and reported, and
// the other sources are kept.
func TestIrregularSources(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy")
	src := filepath.Join(t.TempDir(), "a.h5")
	out, err := exec.Command(python, "-c", irregular, src).CombinedOutput()
	require.NoError(t, err, "%s", out)
	dst, r := recovered(t, src, nil)
	require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
	want := []any{int32(0), int32(1), int32(6), int32(7), int32(8)}
	require.Equal(t, want, readBack(t, dst, "v")["v"])
	damageGroup(t, src)
	dst, r = recovered(t, src, nil)
	require.Equal(t, recovery.ExitPartly, r.ExitCode())
	requireNoDamage(t, dst)
	var lost []recovery.Finding
	for _, x := range r.Findings {
		if x.Certainty == recovery.Lost && x.Object == "/v" {
			lost = append(lost, x)
		}
	}
	require.Len(t, lost, 1, "%v", r.Findings)
	require.Equal(t, "source 0", lost[0].What)
	require.Contains(t, lost[0].Err.Error(), "not a hyperslab")
	require.Positive(t, r.Lost)
	require.Equal(t, []any{int32(0), int32(0), int32(0), int32(0), int32(0)}, readBack(t, dst, "v")["v"])
	require.Equal(t, readBack(t, src, "whole"), readBack(t, dst, "whole"))
}

// TestHDF5_emptySequence sets the length of a string to 0 although its heap object has bytes.
// libhdf5 compares the two lengths and reads no element of the dataset, so the file is not valid.
func TestHDF5_emptySequence(t *testing.T) {
	python := testenv.Python(t, "h5py")
	src := filepath.Join(t.TempDir(), "a.h5")
	out, err := exec.Command(python, "-c", `
import sys, h5py
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("x", data=["one", "", "three"])
`, src).CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireSound(t, src)
	at := hdf5test.Object(t, src, "/x").Layout().Addr
	change(t, src, func(b []byte) []byte { b[at] = 0; return b })
	program := "import sys, h5py; print([s.decode() for s in h5py.File(sys.argv[1])['x'][()]])"
	require.Error(t, exec.Command(python, "-c", program, src).Run())
	r, err := verify.File(bg, src, nil)
	require.NoError(t, err)
	require.Positive(t, r.NumDamages)
	dst, _ := recovered(t, src, nil)
	out, err = exec.Command(python, "-c", program, dst).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "['', '', 'three']\n", string(out))
}
