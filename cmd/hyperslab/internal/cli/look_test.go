package cli_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestStats_nonNumbers checks that stats and plot reject elements that are not real numbers and do
// not write a file. The error must contain the dtype.
func TestStats_nonNumbers(t *testing.T) {
	t.Chdir(field(t))
	for name, text := range map[string]string{"dates": "<M8[D]", "spans": "<m8[s]", "bytes": "|S4", "raw": "|V3"} {
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err)
		file := name + ".b2nd"
		require.NoError(t, os.WriteFile(name+".bin", make([]byte, 6*d.Size), 0o644))
		_, stderr, code := run("convert", name+".bin", file, "-q", "--dtype", text, "--shape", "6")
		require.Zero(t, code, stderr)
		_, _, code = run("dump", file)
		require.Zero(t, code)
		for _, args := range [][]string{
			{"stats"}, {"stats", "--json"}, {"stats", "--range", "0,1"},
			{"plot"}, {"plot", "--kind", "line", "-o", "p.png"}, {"plot", "--kind", "histogram", "-o", "p.svg"}, {"plot", "--range", "0,1"},
		} {
			stdout, stderr, code := run(append(args, file)...)
			require.Equal(t, 2, code, "%s %v", text, args)
			require.Empty(t, stdout)
			require.Contains(t, stderr, file, args)
			require.Contains(t, stderr, text, args)
		}
	}
	left, err := filepath.Glob("p.*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestExplain_At checks that explain --at shows the nested fields that contain a byte, for files of
// every format. The bytes of the innermost field must equal those of the file.
func TestExplain_At(t *testing.T) {
	t.Chdir(field(t))
	for _, line := range [][]string{
		{"convert", "waves.b2nd", "sparse.b2nd", "--sparse", "-q"},
		{"convert", "waves.b2nd", "old.frame", "--format", "caterva", "-q"},
		{"convert", "waves.b2nd", "w.bcolz", "-q", "--exclude-unsupported"},
	} {
		_, stderr, code := run(line...)
		require.Zero(t, code, stderr)
	}
	for _, c := range []struct {
		file, format string
		step         int
	}{
		{"waves.b2nd", "frame", 13},
		{"old.frame", "frame", 13},
		{"sparse.b2nd/chunks.b2frame", "frame", 7},
		{"sparse.b2nd/00000001.chunk", "chunk", 13},
		{"w.bcolz/data/__0.blp", "bcolz", 13},
		{"tree.h5", "hdf5", 101},
		{"waves.h5", "hdf5", 101},
	} {
		b, err := os.ReadFile(c.file)
		require.NoError(t, err)
		named := 0
		for at := 0; at < len(b); at += c.step {
			stdout, stderr, code := run("explain", c.file, "--json", "--at", fmt.Sprint(at))
			require.Zero(t, code, stderr)
			var doc struct {
				Format string
				Field  place
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
			require.Equal(t, c.format, doc.Format)
			f := doc.Field
			for len(f.Fields) > 0 {
				require.Len(t, f.Fields, 1, "%s: byte %d is in two fields of %s", c.file, at, f.Name)
				f = f.Fields[0]
			}
			require.LessOrEqual(t, f.Offset, at, c.file)
			require.Greater(t, f.Offset+f.Length, at, c.file)
			if f.Hex != "" {
				shown, err := hex.DecodeString(f.Hex)
				require.NoError(t, err)
				require.Equal(t, b[f.Offset:][:len(shown)], shown, "%s: %s", c.file, f.Name)
				named++
			}
		}
		require.Greater(t, named, 10, c.file)
	}
	for _, dir := range []string{"sparse.b2nd", "w.bcolz"} {
		_, stderr, code := run("explain", dir, "--at", "3")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, dir+" is a directory; name a file in it")
		_, stderr, code = run("explain", dir)
		require.Zero(t, code, stderr)
	}
}

// place is a field of an explain document.
type place struct {
	Name           string
	Offset, Length int
	Hex            string
	Fields         []place
}
