// Tests of conversions between HDF5 and b2nd that copy Blosc2 chunks without recompression.

package cli_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// blosc2Chunks is a Python program. It writes arrays with hdf5plugin and python-blosc2 (write DIR),
// or compares the compressed bytes of the chunks of each pair of files (compare DIR PAIR …).
const blosc2Chunks = `import os, sys
import blosc2, h5py, hdf5plugin, numpy as np
os.chdir(sys.argv[2])
if sys.argv[1] == "write":
    a = np.cumsum(np.random.default_rng(1).integers(0, 9, (400, 300)), axis=1).astype("i4")
    B = hdf5plugin.Blosc2
    with h5py.File("a.h5", "w") as f:
        f.create_dataset("zstd", data=a, chunks=(100, 100), **B(cname="zstd", clevel=3, filters=B.SHUFFLE))
        f.create_dataset("lz4", data=a, chunks=(200, 60), **B(cname="lz4", clevel=9, filters=B.BITSHUFFLE))
    for name, codec, level, flt in ("zstd", blosc2.Codec.ZSTD, 7, blosc2.Filter.SHUFFLE), ("lz4", blosc2.Codec.LZ4, 2, blosc2.Filter.BITSHUFFLE):
        blosc2.asarray(a, chunks=(100, 100), blocks=(50, 20), urlpath=name + ".b2nd", mode="w",
                       cparams=blosc2.CParams(codec=codec, clevel=level, filters=[flt], filters_meta=[0]))
    sys.exit()
for pair in sys.argv[3:]:
    where, frame = pair.split("=")
    name, path = where.split(":")
    s = blosc2.open(frame)
    with h5py.File(name) as f:
        d = f[path]
        assert (d[...] == s[...]).all(), pair
        assert d.chunks == s.chunks, pair
        grid = [-(-n // c) for n, c in zip(d.shape, d.chunks)]
        for i, at in enumerate(np.ndindex(*grid)):
            mask, raw = d.id.read_direct_chunk(tuple(k * c for k, c in zip(at, d.chunks)))
            stored = blosc2.schunk_from_cframe(raw).get_chunk(0)
            assert mask == 0 and stored == s.schunk.get_chunk(i), f"{pair}: chunk {at}"
        assert i > 5, pair
`

func TestConvert_blosc2Chunks(t *testing.T) {
	python, dir := testenv.Python(t, "h5py", "hdf5plugin", "blosc2"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	peer := func(verb string, args ...string) {
		t.Helper()
		out, err := exec.Command(python, append([]string{"-c", blosc2Chunks, verb, dir}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	peer("write")
	var pairs []string
	for _, name := range []string{"zstd", "lz4"} {
		done(t, "convert", at("a.h5:/"+name), at("of-"+name+".b2nd"))
		done(t, "convert", at(name+".b2nd"), at("of-"+name+".h5:/x"), "--codec", "blosc2/"+name)
		pairs = append(pairs, "a.h5:"+name+"=of-"+name+".b2nd", "of-"+name+".h5:x="+name+".b2nd", "a.h5:"+name+"=tree/"+name+".b2nd")
	}
	done(t, "convert", at("a.h5"), at("tree"))
	peer("compare", pairs...)

	t.Run("recompressed on request", func(t *testing.T) {
		done(t, "convert", at("a.h5:/zstd"), at("other.b2nd"), "--level", "9")
		done(t, "convert", at("zstd.b2nd"), at("other.h5:/x"), "--codec", "blosc2/zstd", "--level", "1")
		for _, pair := range []string{"a.h5:zstd=other.b2nd", "other.h5:x=zstd.b2nd"} {
			out, err := exec.Command(python, "-c", blosc2Chunks, "compare", dir, pair).CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "chunk (0, 0)")
		}
		done(t, "diff", at("a.h5:/zstd"), at("other.b2nd"))
	})
	t.Run("untrusted", func(t *testing.T) {
		done(t, "convert", "--untrusted", at("a.h5:/zstd"), at("untrusted.b2nd"))
		done(t, "diff", at("a.h5:/zstd"), at("untrusted.b2nd"))
	})
}
