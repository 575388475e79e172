// Tests of interoperability with h5py and python-blosc2: each side reads what the other side has
// written. The Python program is testdata/interop.py.
package hyperslab_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// interopEntry is one array of a manifest. The file interop.py describes the fields.
type interopEntry struct {
	File   string         `json:"file"`
	Object string         `json:"object"`
	DType  string         `json:"dtype"`
	Shape  []int64        `json:"shape"`
	SHA256 string         `json:"sha256"`
	Attrs  map[string]any `json:"attrs"`
	What   string         `json:"what"`
}

// python runs testdata/interop.py.
func python(t *testing.T, verb, dir string) {
	t.Helper()
	interpreter := testenv.Python(t, "h5py", "blosc2")
	out, err := exec.Command(interpreter, testenv.Module(t, "ndarray/testdata/locations.py"), verb, dir).CombinedOutput()
	require.NoError(t, err, "interop.py %s:\n%s", verb, out)
}

func (e interopEntry) location(dir string) string {
	if e.Object == "" {
		return filepath.Join(dir, e.File)
	}
	return filepath.Join(dir, e.File) + ":" + e.Object
}

func readWhole(t *testing.T, a *ndarray.Array) []byte {
	t.Helper()
	data := make([]byte, a.NBytes())
	require.NoError(t, a.Read(context.Background(), data, ndarray.Region{Start: make([]int64, len(a.Shape())), Shape: a.Shape()}))
	return data
}

// plain returns the value of an attribute in the types of package encoding/json.
func plain(t *testing.T, v ndarray.Value) any {
	t.Helper()
	require.False(t, v.Null)
	if v.DType.Kind == ndarray.String {
		require.Len(t, v.Strings, 1)
		return v.Strings[0]
	}
	require.Empty(t, v.Shape)
	switch v.DType.String() {
	case "|b1":
		return v.Data[0] != 0
	case "<f8":
		return number[float64](t, v)
	case "<i8":
		return float64(number[int64](t, v))
	}
	t.Fatalf("attribute of an unexpected type %v", v.DType)
	return nil
}

// TestPython checks both directions with the same files.
func TestPython(t *testing.T) {
	dir := testenv.Scratch(t)
	python(t, "write", dir)
	manifest := readManifest(t, dir)
	require.Greater(t, len(manifest), 300)
	t.Run("we read what it wrote", func(t *testing.T) { testReadsWhatPythonWrote(t, dir, manifest) })
	t.Run("it reads what we wrote", func(t *testing.T) { testPythonReadsWhatWeWrote(t, dir, manifest) })
}

// TestPythonMatrix checks every combination of dtype, codec, filters, shape and storage that
// python-blosc2 writes.
func TestPythonMatrix(t *testing.T) {
	dir := testenv.Scratch(t)
	python(t, "matrix", dir)
	manifest := readManifest(t, dir)
	require.Greater(t, len(manifest), 200) // of 240; python-blosc2 4.14 cannot read some of its own frames with dictionaries
	t.Run("we read what it wrote", func(t *testing.T) { testReadsWhatPythonWrote(t, dir, manifest) })
	t.Run("it reads what we wrote", func(t *testing.T) { testPythonReadsWhatWeWrote(t, dir, manifest) })
}

func readManifest(t *testing.T, dir string) (manifest []interopEntry) {
	b, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &manifest))
	return manifest
}

func testReadsWhatPythonWrote(t *testing.T, dir string, manifest []interopEntry) {
	ctx := context.Background()
	for _, want := range manifest {
		t.Run(strings.TrimPrefix(want.File+want.Object, "/"), func(t *testing.T) {
			a, err := hyperslab.Open(ctx, want.location(dir), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			require.Equal(t, want.DType, a.DType().String(), want.What)
			require.Equal(t, want.Shape, a.Shape())
			sum := sha256.Sum256(readWhole(t, a))
			require.Equal(t, want.SHA256, hex.EncodeToString(sum[:]), want.What)
			attrs, err := a.Attrs(ctx)
			require.NoError(t, err)
			require.Empty(t, attrs.Unsupported)
			got := map[string]any{}
			for _, attr := range attrs.List {
				got[attr.Name] = plain(t, attr.Value)
			}
			require.Equal(t, want.Attrs, got)
		})
	}
}

// testPythonReadsWhatWeWrote copies files of Python to each of our formats. Python must read the
// same values, dtypes and attributes from the copies.
func testPythonReadsWhatWeWrote(t *testing.T, from string, manifest []interopEntry) {
	to := testenv.Scratch(t)
	var ours []interopEntry
	for i, e := range manifest {
		src, err := hyperslab.Open(bg, e.location(from), nil)
		require.NoError(t, err)
		blosc := []string{"%d.b2nd", "%d-sparse.b2nd"}[i/2%2] // every source dtype is copied to both
		for _, name := range []string{blosc, "%d.h5"} {
			copied := e
			copied.File, copied.Object = fmt.Sprintf(name, i), ""
			if filepath.Ext(name) == ".h5" {
				copied.Object = "/group/array"
				if strings.ContainsRune("UMm", rune(e.DType[1])) { // HDF5 has no such type
					continue
				}
			}
			copyThrough(t, src, filepath.Join(to, copied.File), copied.Object, strings.Contains(name, "sparse"))
			ours = append(ours, copied)
		}
		require.NoError(t, src.Close())
	}
	b, err := json.Marshal(ours)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "manifest.json"), b, 0o600))
	python(t, "check", to)
}

// copyThrough copies an array to a file. It creates the file without a Draft, because the fsync
// calls of a Draft would take most of the time.
func copyThrough(t *testing.T, src *ndarray.Array, file, object string, sparse bool) {
	t.Helper()
	attrs, err := src.Attrs(bg)
	require.NoError(t, err)
	m := src.Meta()
	spec := m.Spec()
	spec.Attrs, spec.Compression = attrs.List, nil
	var b ndarray.Backend
	if object != "" {
		spec.BlockShape = nil
		b, err = hdf5.Create(file, object, spec, nil)
	} else {
		b, err = b2nd.Create(file, spec, &b2nd.CreateOptions{Sparse: sparse})
	}
	require.NoError(t, err, "%s from %s", file, m.Path)
	dst, err := ndarray.New(b)
	require.NoError(t, err)
	_, err = ndarray.Copy(bg, dst, src, nil)
	require.NoError(t, err, "%s from %s", file, m.Path)
	require.NoError(t, dst.Close())
}

// number returns the element of a scalar.
func number[T ndarray.Element](t *testing.T, v ndarray.Value) T {
	t.Helper()
	n, err := ndarray.ValuesOf[T](v)
	require.NoError(t, err)
	require.Len(t, n, 1)
	return n[0]
}
