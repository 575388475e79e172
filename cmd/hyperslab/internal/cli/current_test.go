// Tests of the command with files that the current python-blosc2 writes.
package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestRun_currentBlosc2(t *testing.T) {
	python, dir := testenv.Python(t, "blosc2", "h5py", "hdf5plugin"), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out, err := exec.Command(python, "testdata/current.py", "write", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	ok := func(t *testing.T, args ...string) string {
		t.Helper()
		stdout, stderr, code := run(args...)
		require.Zero(t, code, "%v: %s", args, stderr)
		return stdout
	}

	t.Run("dimension of length 0", func(t *testing.T) {
		for name, shape := range map[string]string{"zero.b2nd": "[3,0,2]", "zero-sparse.b2nd": "[0,5]"} {
			require.Contains(t, strings.ReplaceAll(ok(t, "dump", "--json", at(name)), " ", ""), `"shape":`+shape)
			ok(t, "info", at(name))
			ok(t, "verify", at(name))
			ok(t, "stats", at(name))
			ok(t, "repack", at(name), at("repacked-"+name), "--codec", "lz4")
			for _, to := range []string{"copy-" + name, name + ".h5:/x"} {
				ok(t, "convert", at(name), at(to))
				ok(t, "diff", at(name), at(to))
			}
		}
	})
	t.Run("values not in the file", func(t *testing.T) {
		for name, kind := range map[string]string{"lazyexpr.b2nd": "a lazy expression", "proxy.b2nd": "a proxy"} {
			for _, args := range [][]string{
				{"dump", at(name)}, {"stats", at(name)}, {"convert", at(name), at("out.b2nd")}, {"convert", at(name), at("out.h5:/x")},
				{"repack", at(name), at("out.b2nd"), "--codec", "lz4"}, {"dump", "--untrusted", at(name)},
			} {
				_, stderr, code := run(args...)
				require.NotZero(t, code, "%v", args)
				require.Contains(t, stderr, kind, "%v", args)
			}
			stdout, _, code := run("verify", at(name))
			require.Equal(t, 3, code, stdout)
			require.Contains(t, stdout, kind)
		}
	})
	t.Run("new codings", func(t *testing.T) {
		names := []string{"unicode.b2nd", "dims.b2nd", "dict-LZ4.b2nd", "dict-LZ4HC.b2nd", "dict-ZSTD.b2nd"}
		for _, name := range names {
			ok(t, "verify", at(name))
			ok(t, "recover", at(name), at("recovered-"+name))
			ok(t, "diff", at(name), at("recovered-"+name))
			ok(t, "repack", at(name), at("repacked-"+name), "--codec", "zstd", "--level", "1")
			ok(t, "diff", at(name), at("repacked-"+name))
			ok(t, "dump", "--untrusted", "--json", at(name))
		}
		for _, name := range names[2:] {
			content, err := os.ReadFile(at(name))
			require.NoError(t, err)
			grown := at("grown-" + name)
			put(t, grown, content)
			ok(t, "append", grown, at("noise.b2nd")) // a chunk of random data, which C-Blosc2 would store uncompressed with the dictionary flag
			ok(t, "append", grown, at(name))
			ok(t, "verify", grown)
			ok(t, "diff", grown+"[100000:150000]", at("noise.b2nd"))
			ok(t, "diff", grown+"[150000:]", at(name))
		}
		ok(t, "verify", at("dict.h5"))
		for _, codec := range []string{"LZ4", "LZ4HC", "ZSTD"} {
			ok(t, "diff", at("dict.h5:/"+codec), at("dict-"+codec+".b2nd"))
			ok(t, "recover", at("dict.h5"), at("recovered-"+codec+".h5"))
		}
	})
	t.Run("appended to dictionaries", func(t *testing.T) {
		out, err := exec.Command(python, "testdata/current.py", "grown", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	t.Run("chunks of variable length", func(t *testing.T) {
		for name, values := range map[string]string{
			"objects.b2frame": `"values": [{"a":1}, [1,2,"x"], null, "long long `,
			"batch.b2frame":   `"values": [[1,2,3], ["a","bbb`,
		} {
			require.Contains(t, ok(t, "dump", "--json", at(name)), values)
		}
		_, stderr, code := run("dump", at("objects-sparse.b2frame"))
		require.NotZero(t, code)
		require.Contains(t, stderr, "unsupported")
		for _, name := range []string{"objects.b2frame", "objects-sparse.b2frame", "batch.b2frame"} {
			ok(t, "recover", at(name), at("recovered-"+name))
			ok(t, "verify", at(name))
			ok(t, "verify", at("recovered-"+name))
		}
	})
	t.Run("metalayers", func(t *testing.T) {
		ok(t, "convert", at("vl.b2nd"), at("1.b2nd"))
		ok(t, "convert", at("vl.b2nd"), at("2.b2nd"), "--sparse")
		ok(t, "repack", at("vl.b2nd"), at("3.b2nd"), "--codec", "lz4")
		ok(t, "cp", at("vl.b2nd"), at("4.b2nd"))
		ok(t, "convert", "--untrusted", at("vl.b2nd"), at("5.b2nd"))
		cmd := exec.Command(python, "testdata/current.py", "check", dir)
		cmd.Stdin = strings.NewReader("1.b2nd 2.b2nd 3.b2nd 4.b2nd 5.b2nd")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		ok(t, "diff", at("vl.b2nd"), at("3.b2nd"))

		require.Equal(t, "{\"a\":1,\"b\":[1,\"x\",null]}\n", ok(t, "attr", "get", at("vl.b2nd"), "dict"))
		require.Contains(t, ok(t, "attr", "get", "--json", at("vl.b2nd"), "none"), `"value": null`)
		info := ok(t, "info", "--json", at("vl.b2nd"))
		for _, want := range []string{`"ext":46`, `[1,"a",2.5,null,{"base64":"cQ=="}]`, `"value":{"k":[1,null]}`} {
			require.Contains(t, strings.Join(strings.Fields(info), ""), want)
		}
		_, stderr, code := run("convert", at("vl.b2nd"), at("vl.h5:/x"))
		require.NotZero(t, code)
		for _, name := range []string{"dict", "none", "mixed", "array", "complex", "set", "fixed"} {
			require.Contains(t, stderr, name)
		}
	})
}
