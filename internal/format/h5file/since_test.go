package h5file_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// sinceOf returns the oldest release that reads the dataset or group at a path in the root group,
// or that reads the root group for "".
func sinceOf(t testing.TB, file, name string) string {
	t.Helper()
	f := mustOpen(t, load(t, file))
	o, err := f.Root()
	require.NoError(t, err)
	objects := []*h5file.Object{o}
	for l, err := range o.Links() {
		require.NoError(t, err)
		if l.Name == name {
			x, err := f.Object(l.Target)
			require.NoError(t, err)
			objects = append(objects, x)
		}
	}
	if name != "" {
		require.Len(t, objects, 2)
	}
	since, err := f.Since(objects...)
	require.NoError(t, err)
	return since
}

// TestFile_Since writes each kind of dataset with each lower bound of the format. h5dump 1.14 must
// refuse exactly the datasets that need a later release.
func TestFile_Since(t *testing.T) {
	h5dump := testenv.Tool(t, "h5dump")
	i4, f4 := h5.Int(4, h5.LittleEndian), h5.IEEEFloat(4, h5.LittleEndian)
	bfloat := h5.Datatype{
		Class: h5.Float, Size: 2, Order: h5.LittleEndian, Precision: 16,
		Layout: h5.FloatLayout{SignPos: 15, ExpPos: 7, ExpSize: 8, MantSize: 7, ExpBias: 127, Norm: h5.NormImplied},
	}
	ten := h5.SimpleSpace(10)
	half := h5.Region{Start: []int64{0}, Count: []int64{5}, Stride: []int64{2}}
	mapping := []h5.Mapping{{Region: half, File: ".", Dataset: "source", Source: ten, SourceRegion: half}}
	bounds := []h5.LibVer{h5.Earliest, h5.V18, h5.V110, h5.V112, h5.V114, h5.LatestFormat}
	for name, d := range map[string]struct {
		dt    h5.Datatype
		space h5.Dataspace
		o     *h5.DatasetOptions
		want  []string // for each of bounds
	}{
		"plain":    {i4, ten, nil, []string{"1.6", "1.8", "1.10", "1.10", "1.10", "1.10"}},
		"compact":  {i4, ten, &h5.DatasetOptions{Compact: true}, []string{"1.6", "1.8", "1.10", "1.10", "1.10", "1.10"}},
		"chunked":  {i4, ten, &h5.DatasetOptions{ChunkShape: []int64{5}, Shuffle: true}, []string{"1.6", "1.8", "1.10", "1.10", "1.10", "2.0"}},
		"null":     {i4, h5.NullSpace(), nil, []string{"1.8", "1.8", "1.10", "1.10", "1.10", "1.10"}},
		"virtual":  {i4, ten, &h5.DatasetOptions{Mappings: mapping}, []string{"1.10", "1.10", "1.10", "1.12", "1.12", "2.0"}},
		"object":   {h5.ReferenceType(h5.ObjectReference), ten, nil, []string{"1.6", "1.8", "1.10", "1.10", "1.10", "1.10"}},
		"standard": {h5.ReferenceType(h5.StandardReference), ten, nil, []string{"1.12", "1.12", "1.12", "1.12", "1.12", "1.12"}},
		"bfloat16": {bfloat, ten, nil, []string{"1.6", "1.8", "1.10", "1.10", "1.10", "1.10"}},
		"complex":  {h5.Datatype{Class: h5.Complex, Size: 8, Base: &f4}, ten, nil, []string{"2.0", "2.0", "2.0", "2.0", "2.0", "2.0"}},
		"member": {
			h5.CompoundOf(h5.Member{Name: "z", Type: &h5.Datatype{Class: h5.Complex, Size: 8, Base: &f4}}), ten, nil,
			[]string{"2.0", "2.0", "2.0", "2.0", "2.0", "2.0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, low := range bounds {
				file := filepath.Join(t.TempDir(), "x.h5")
				f, err := h5.Create(file, &h5.CreateOptions{Low: low})
				require.NoError(t, err)
				source, err := f.Root().CreateDataset("source", i4, ten, nil)
				require.NoError(t, err)
				x, err := f.Root().CreateDataset("x", d.dt, d.space, d.o)
				require.NoError(t, errors.Join(err, x.Close(), source.Close(), f.Close()))
				require.Equal(t, d.want[i], sinceOf(t, file, "x"), "lower bound %d", low)
				out, err := exec.Command(h5dump, "-d", "/x", file).CombinedOutput()
				require.Equal(t, d.want[i] == "2.0", err != nil, "lower bound %d: %s", low, out)
			}
		})
	}
}

// TestFile_Since_attributes checks that attributes, groups and the superblock extension count.
func TestFile_Since_attributes(t *testing.T) {
	type row struct {
		To h5.Ref `h5:"to,ref=standard"`
	}
	create := func(o *h5.CreateOptions) (string, *h5.File) {
		file := filepath.Join(t.TempDir(), "x.h5")
		f, err := h5.Create(file, o)
		require.NoError(t, err)
		return file, f
	}
	file, f := create(nil)
	ref, err := f.Root().Reference("/", h5.StandardReference)
	require.NoError(t, err)
	for _, name := range []string{"old", "new"} {
		g, err := f.Root().CreateGroup(name)
		require.NoError(t, err)
		if name == "new" {
			require.NoError(t, h5value.WriteAttr(g, "to", []row{{ref}}))
		}
		require.NoError(t, g.Close())
	}
	ordered, err := f.Root().CreateGroupWith("ordered", &h5.GroupOptions{Order: h5.TrackCreationOrder})
	require.NoError(t, errors.Join(err, ordered.Close(), f.Close()))
	require.Equal(t, "1.4", sinceOf(t, file, "old"))
	require.Equal(t, "1.12", sinceOf(t, file, "new"))
	require.Equal(t, "1.8", sinceOf(t, file, "ordered"))
	file, f = create(&h5.CreateOptions{Low: h5.V110})
	require.NoError(t, f.Close())
	require.Equal(t, "1.10", sinceOf(t, file, ""))
}

// TestFile_Since_library checks that no file of HDF5 1.14 needs a later release.
func TestFile_Since_library(t *testing.T) {
	met := map[string]int{}
	for _, file := range findFiles(t, testenv.Directory(t, "HYPERSLAB_HDF5_SRC")) {
		f, err := open(load(t, file))
		if err != nil {
			continue // corrupt on purpose, or a later member of a set of files
		}
		for e := range f.Walk() {
			if e.Object == nil || e.Object.Err() != nil {
				continue
			}
			since, err := f.Since(e.Object)
			if err == nil {
				met[since]++
			}
			require.NotEqual(t, "2.0", since, "%s:%s", file, e.Path)
		}
	}
	for _, release := range []string{"1.4", "1.6", "1.8", "1.10", "1.12"} {
		require.NotZero(t, met[release], "%v", met)
	}
	t.Log(met)
}
