// Tests of arrays whose metadata can be read and whose elements cannot.

package cli_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// unreadableProgram writes arrays with codecs that are plug-ins, a lazy expression and a proxy.
const unreadableProgram = `import os, sys
import blosc2, numpy as np
os.chdir(sys.argv[1])
plain = dict(filters=[], splitmode=blosc2.SplitMode.NEVER_SPLIT)
data = np.arange(64 * 48, dtype="f4").reshape(64, 48)
for name, codec in ("zfp", blosc2.Codec.ZFP_ACC), ("ndlz", blosc2.Codec.NDLZ):
    a = data.astype("u1") if name == "ndlz" else data
    blosc2.asarray(a, chunks=(32, 16), blocks=(16, 16), urlpath=name + ".b2nd", cparams=dict(codec=codec, codec_meta=4, **plain))
blosc2.asarray(data, urlpath="a.b2nd", chunks=(32, 16))
blosc2.lazyexpr("a + 1", {"a": blosc2.open("a.b2nd")}).save("lazy.b2nd")
blosc2.Proxy(blosc2.open("a.b2nd"), urlpath="proxy.b2nd")`

func TestInfo_unreadableElements(t *testing.T) {
	python, dir := testenv.Python(t, "blosc2"), t.TempDir()
	out, err := exec.Command(python, "-c", unreadableProgram, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, reason := range map[string]string{"zfp": "zfp_acc", "ndlz": "ndlz", "lazy": "lazy expression", "proxy": "proxy"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, name+".b2nd")
			for _, command := range []string{"info", "ls", "tree"} {
				require.Contains(t, done(t, command, file), "64x48", command)
			}
			require.Contains(t, done(t, "ls", dir), "/"+name)
			require.Contains(t, done(t, "chunks", file), "[0, 0]")
			done(t, "attr", "list", file)
			target := filepath.Join(t.TempDir(), "copy.b2nd")
			for _, args := range [][]string{{"dump", file}, {"stats", file}, {"convert", file, target}, {"convert", "--dry-run", file, target}} {
				_, stderr, code := run(args...)
				require.Equal(t, 2, code, args[0])
				require.Contains(t, stderr, reason, args[0])
				require.Contains(t, stderr, "hyperslab info", args[0])
				require.NoFileExists(t, target)
			}
		})
	}
}
