// Tests with damaged files: the reference libraries open every result.

package recovery_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// openAllFiles reads every attribute of the files on its standard input, and every element of those
// that are not repaired copies. It prints each file that it cannot read.
const openAllFiles = `
import sys, h5py, blosc2
def read(name, o):
    dict(o.attrs)
    if isinstance(o, h5py.Dataset) and not o.file.filename.endswith("-repaired.h5"):
        o[()] if o.size < 1e8 else o[tuple(slice(0, 2) for _ in o.shape)]  # a damaged shape
for path in sys.stdin.read().split("\n"):
    try:
        if path.endswith(".h5"):
            with h5py.File(path) as f:
                f.visititems(read)
        else:
            a = blosc2.open(path)
            a[:] if isinstance(a, blosc2.SChunk) else a[()]
    except Exception as e:
        print(path, repr(e))
`

// mutate returns a damaged copy of b: flipped bits, a cut, zeros, or two swapped blocks.
func mutate(b []byte, r *rand.Rand) []byte {
	b = bytes.Clone(b)
	n := len(b)
	switch r.IntN(5) {
	case 0:
		b[r.IntN(n)] ^= 1 << r.IntN(8)
	case 1:
		for range 1 + r.IntN(20) {
			b[r.IntN(n)] = byte(r.Uint32())
		}
	case 2:
		b = b[:1+r.IntN(n-1)]
	case 3:
		at := r.IntN(n)
		clear(b[at:min(n, at+1+r.IntN(512))])
	default:
		size := 1 + r.IntN(min(256, n/2))
		x, y := r.IntN(n/2-size+1), n/2+r.IntN(n-n/2-size+1)
		saved := bytes.Clone(b[x : x+size])
		copy(b[x:], b[y:y+size])
		copy(b[y:], saved)
	}
	return b
}

// TestRecover_reference damages files and recovers them. The reference library must read every
// attribute and element of each new file, and every attribute of each repaired copy.
func TestRecover_reference(t *testing.T) {
	python := testenv.Python(t, "h5py", "blosc2")
	_, older := structured(t, "oldest")
	_, newer := structured(t, "newest")
	count := 12
	if testenv.All() {
		count = 400
	}
	dir := t.TempDir()
	var made []string
	for k, path := range []string{older, newer, saveHDF5(t, h5.V110), save(t, "a.b2nd", nil)} {
		whole := read(t, path)
		for i := range count {
			r := rand.New(rand.NewPCG(uint64(k), uint64(i)))
			name := filepath.Join(dir, fmt.Sprintf("%d-%d%s", k, i, filepath.Ext(path)))
			src := name + ".damaged"
			require.NoError(t, os.WriteFile(src, mutate(whole, r), 0o600))
			o := &recovery.Options{Format: map[string]string{".h5": "hdf5", ".b2nd": "b2nd"}[filepath.Ext(path)]}
			if _, err := recovery.Recover(bg, name, src, o); err == nil {
				made = append(made, name)
			} else {
				require.ErrorIs(t, err, ndarray.ErrCorrupt, src)
			}
			if o.Format != "hdf5" {
				continue
			}
			repaired := strings.TrimSuffix(name, ".h5") + "-repaired.h5"
			p, err := recovery.PlanRepair(bg, src, o)
			if err != nil {
				require.True(t, errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, format.ErrLimit), "%s: %v", src, err)
				continue
			}
			require.NoError(t, p.Apply(bg, repaired, src, false, nil))
			if len(p.Changes) > 0 {
				made = append(made, repaired)
			}
		}
	}
	testenv.Occurred(t, len(made), 4*count)
	c := exec.Command(python, "-c", openAllFiles)
	c.Stdin = strings.NewReader(strings.Join(made, "\n"))
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
