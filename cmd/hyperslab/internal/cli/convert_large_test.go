package cli_test

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// TestConvert_largeAttributes checks that convert keeps attributes over 64 KiB, the limit of an
// object header in the oldest HDF5 format. The targets are new files, files whose other objects
// have the oldest format, and trees. h5py must read the attributes.
func TestConvert_largeAttributes(t *testing.T) {
	python := testenv.Python(t, "h5py")
	t.Chdir(t.TempDir())
	numbers, words := make([]int64, 20_000), make([]string, 9_000)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	for i := range words {
		words[i] = "word"
	}
	text := ndarray.Value{DType: ndarray.Text("").DType, Shape: []int64{int64(len(words))}, Strings: words}
	attrs := []ndarray.Attr{{Name: "numbers", Value: ndarray.Vector(numbers...)}, {Name: "words", Value: text}, {Name: "small", Value: ndarray.Scalar(int64(1))}}
	create(t, "a.b2nd", ndarray.Spec{Shape: []int64{3}, Attrs: attrs}, []int32{1, 2, 3})
	for _, file := range []string{"copy.h5:/old", "place.h5:/old"} {
		create(t, file, ndarray.Spec{Shape: []int64{2}}, []int32{1, 2})
	}

	done(t, "convert", "-q", "a.b2nd", "new.h5:/x")
	done(t, "convert", "-q", "a.b2nd", "copy.h5:/x")
	done(t, "convert", "-q", "--in-place", "a.b2nd", "place.h5:/x")
	o := h5.CreateOptions{}
	o.Low = h5.V18
	f, err := h5.Create("tree.h5", &o)
	require.NoError(t, err)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, hdf5.WriteAttrs(f.Root(), attrs))
	require.NoError(t, hdf5.WriteAttrs(g, attrs))
	require.NoError(t, g.Close())
	require.NoError(t, f.Close())
	done(t, "cp", "a.b2nd", "tree.h5:/g/x")
	done(t, "convert", "-q", "tree.h5", "tree2.h5")
	done(t, "diff", "tree.h5", "tree2.h5")
	done(t, "diff", "a.b2nd", "place.h5:/x")
	done(t, "verify", "new.h5", "copy.h5", "place.h5", "tree2.h5")

	out, err := exec.Command(python, "-c", `
import h5py, json
found = {}
for name, paths in {"new.h5": "x", "copy.h5": "x old", "place.h5": "x old", "tree2.h5": "/ g g/x"}.items():
    with h5py.File(name, "r") as f:
        for path in paths.split():
            a = f[path].attrs
            assert "numbers" not in a or (a["numbers"] == range(20000)).all() and set(a["words"]) == {"word"}
            found[name + ":" + path] = [len(a["numbers"]), len(a["words"]), int(a["small"])] if len(a) else []
print(json.dumps(found))`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var found map[string][]int
	require.NoError(t, json.Unmarshal(out, &found))
	all := []int{20_000, 9_000, 1}
	require.Equal(t, map[string][]int{
		"new.h5:x": all, "copy.h5:x": all, "copy.h5:old": {}, "place.h5:x": all, "place.h5:old": {},
		"tree2.h5:/": all, "tree2.h5:g": all, "tree2.h5:g/x": all,
	}, found)
}
