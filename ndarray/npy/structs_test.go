package npy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// resave loads the files that Create wrote and saves them again with NumPy, and verifies that NumPy
// cannot save the types that Create refused.
const resave = `
import json, numpy as np, sys
request = json.load(sys.stdin)
for name in request["files"]:
    np.save(name + ".again.npy", np.load(name))
for text in request["refused"]:
    d = np.dtype(eval(text)) if text[0] in "[{(" else np.dtype(text)
    try:
        np.save(sys.argv[1], np.zeros(2, d))
        sys.exit(f"NumPy saves {text}")
    except ValueError:
        pass
`

// TestInterop_types stores elements of random types, for example aligned structures and structures
// with gaps. NumPy must read each file, and write a file in which Open finds the same type.
func TestInterop_types(t *testing.T) {
	python, dir := testenv.Python(t, "numpy"), t.TempDir()
	types := samples.DTypes()
	draw := rapid.Custom(samples.DrawDType)
	for i := range 150 {
		types = append(types, draw.Example(i))
	}
	request := struct {
		Files   []string `json:"files"`
		Refused []string `json:"refused"`
	}{[]string{}, []string{}}
	stored := make(map[string]ndarray.DType)
	data := make(map[string][]byte)
	for i, d := range types {
		// NumPy has no arrays of sub-arrays, and long doubles of 12 bytes on few platforms only.
		if d.Kind == ndarray.SubArray || !d.NumPy().EqualValues(d) || strings.Contains(d.String(), "f12") {
			continue
		}
		file := filepath.Join(dir, strconv.Itoa(i)+".npy")
		b, err := npy.Create(file, ndarray.Spec{Shape: []int64{2}, DType: d})
		if errors.Is(err, errors.ErrUnsupported) {
			request.Refused = append(request.Refused, d.String())
			continue
		}
		require.NoError(t, err, "%v", d)
		a, err := ndarray.New(b)
		require.NoError(t, err)
		elements := make([]byte, 2*d.Size)
		for k := range elements {
			elements[k] = byte(k % 2) // valid for booleans and code points
		}
		require.NoError(t, a.Write(t.Context(), elements, ndarray.Whole(a.Shape())))
		require.NoError(t, a.Close())
		request.Files = append(request.Files, file)
		stored[file], data[file] = d, elements
	}
	require.NotEmpty(t, request.Refused)

	text, err := json.Marshal(request)
	require.NoError(t, err)
	cmd := exec.Command(python, "-c", resave, filepath.Join(dir, "refused.npy"))
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, file := range request.Files {
		for _, name := range []string{file, file + ".again.npy"} {
			b, err := npy.Open(name, false)
			require.NoError(t, err, "%v", stored[file])
			a, err := ndarray.New(b)
			require.NoError(t, err)
			require.True(t, stored[file].Equal(a.DType()), "got %v, want %v", a.DType(), stored[file])
			got := make([]byte, len(data[file]))
			require.NoError(t, a.Read(t.Context(), got, ndarray.Whole(a.Shape())))
			if name == file {
				require.Equal(t, data[file], got, "%v", stored[file])
			}
			require.NoError(t, a.Close())
		}
	}
}
