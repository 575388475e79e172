package hyperslab_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestCreate_olderReaders checks that C-Blosc2 2.17 and HDF5 1.14 open files that were written with
// default options, also after changes in place.
func TestCreate_olderReaders(t *testing.T) {
	python, dir := testenv.OldPython(t, "blosc2", "h5py"), testenv.Scratch(t)
	units := ndarray.Attr{Name: "units", Value: ndarray.Text("kelvin")}
	fill := func(t *testing.T, a *ndarray.Array, r ndarray.Region) {
		t.Helper()
		n := int64(a.DType().Size)
		for _, extent := range r.Shape {
			n *= extent
		}
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i / 3 & 1) // valid elements of every type
		}
		require.NoError(t, a.Write(bg, src, r))
	}
	var manifest []interopEntry
	write := func(t *testing.T, file, object string, d ndarray.DType, opts *hyperslab.CreateOptions) bool {
		t.Helper()
		e := interopEntry{File: file, Object: object, DType: d.String()}
		spec := ndarray.Spec{Shape: []int64{50, 7}, DType: d, Attrs: []ndarray.Attr{units}}
		changed := len(manifest)%2 == 0
		if changed && object != "" {
			spec.MaxShape = []int64{ndarray.Unlimited, ndarray.Unlimited}
		}
		if len(manifest)%3 == 0 {
			spec.ChunkShape = []int64{16, 4}
		}
		draft, err := hyperslab.Create(bg, e.location(dir), spec, opts)
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, file)
			return false
		}
		fill(t, draft.Array, ndarray.Whole(spec.Shape))
		require.NoError(t, draft.Commit(bg))
		require.NoError(t, draft.Close())
		if changed {
			a, err := hyperslab.Open(bg, e.location(dir), &hyperslab.OpenOptions{Write: true})
			require.NoError(t, err)
			require.NoError(t, a.Append(bg, 0, make([]byte, 20*7*d.Size)))
			fill(t, a, ndarray.Region{Start: []int64{45, 1}, Shape: []int64{17, 3}})
			require.NoError(t, a.Resize(bg, []int64{65, 9}))
			require.NoError(t, a.Close())
		}
		a, err := hyperslab.Open(bg, e.location(dir), nil)
		require.NoError(t, err)
		stored := readWhole(t, a)
		d.ToNative(stored) // back from native to stored byte order
		sum := sha256.Sum256(stored)
		e.Shape, e.SHA256 = a.Shape(), hex.EncodeToString(sum[:])
		require.NoError(t, a.Close())
		manifest = append(manifest, e)
		return true
	}
	unnamed := 0
	for i, d := range samples.DTypes() {
		write(t, "a.h5", fmt.Sprintf("/a%d", i), d, nil)
		if name := d.NumPy().String(); name[0] == '{' || name[0] == '(' || name == ">f12" {
			unnamed++ // python-blosc2 3.2 opens the frame and does not parse the dtype, and NumPy has no >f12
			continue
		}
		write(t, fmt.Sprintf("a%d.b2nd", i), "", d, nil)
		write(t, fmt.Sprintf("sparse%d.b2nd", i), "", d, &hyperslab.CreateOptions{Sparse: true})
	}
	require.Equal(t, 3, unnamed)
	require.Greater(t, len(manifest), 120)
	b, err := json.Marshal(manifest)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "manifest.json"), b, 0o600))
	out, err := exec.Command(python, testenv.Module(t, "ndarray/testdata/older_readers.py"), dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("%d arrays are right", len(manifest)))
}

// TestCreate_olderFeatures checks that files written with default options use only features that
// HDF5 1.14 and C-Blosc2 2.17 support.
func TestCreate_olderFeatures(t *testing.T) {
	write := func(t *testing.T, location string, d ndarray.DType) bool {
		t.Helper()
		spec := ndarray.Spec{Shape: []int64{50, 7}, DType: d}
		a, err := hyperslab.Create(t.Context(), location, spec, nil)
		if err != nil {
			require.ErrorIs(t, err, errors.ErrUnsupported, location)
			return false
		}
		src := make([]byte, a.NBytes())
		require.NoError(t, a.Write(t.Context(), src, ndarray.Whole(spec.Shape)))
		require.NoError(t, a.Commit(t.Context()))
		require.NoError(t, a.Close())
		return true
	}
	t.Run("HDF5", func(t *testing.T) {
		h5dump := testenv.Tool(t, "h5dump")
		version, err := exec.Command(h5dump, "-V").Output()
		require.NoError(t, err)
		require.Contains(t, string(version), "1.14.")
		path, written := filepath.Join(t.TempDir(), "a.h5"), 0
		for i, d := range samples.DTypes() {
			if write(t, fmt.Sprintf("%s:/a%d", path, i), d) {
				written++
			}
		}
		require.Greater(t, written, 15)
		out, err := exec.Command(h5dump, "-p", path).CombinedOutput()
		require.NoError(t, err, "%.2000s", out)
		require.NotContains(t, string(out), "unable to print data")
	})
	t.Run("C-Blosc2", func(t *testing.T) {
		dir, written := t.TempDir(), 0
		for i, d := range samples.DTypes() {
			path := filepath.Join(dir, fmt.Sprintf("a%d.b2nd", i))
			if !write(t, path, d) {
				continue
			}
			written++
			b, err := os.Open(path)
			require.NoError(t, err)
			info, err := b.Stat()
			require.NoError(t, err)
			f, err := cframe.Read(b, info.Size())
			require.NoError(t, err)
			require.LessOrEqual(t, f.Version(), 2, "%v", d)
			require.False(t, f.VariableChunks() || f.VLBlocks(), "%v", d)
			for k, filter := range f.Filters {
				require.True(t, filter != chunk.Shuffle || f.FiltersMeta[k] == 0, "%v: the shuffle of all bytes of an element", d)
			}
			require.NoError(t, b.Close())
		}
		require.Greater(t, written, 15)
	})
}
