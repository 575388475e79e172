// Tests of fields of structures in addresses.

package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// tablesProgram is a Python program. It writes tables with h5py, PyTables and python-blosc2, and
// prints the fields that NumPy reads.
const tablesProgram = `import json, os, sys
import blosc2, h5py, numpy as np, tables
os.chdir(sys.argv[1])
kind = np.dtype([("id", "<i4"), ("temperature", ">f8"), ("pos", [("x", "<f4"), ("a.b", "<i2")]), ("m", "<i2", (2, 3)), ("name", "S4")])
n = 1000
a = np.zeros(n, kind)
a["id"], a["temperature"], a["name"] = np.arange(n), np.sin(np.arange(n)), np.array(["n%d" % (i % 100) for i in range(n)])
a["pos"]["x"], a["pos"]["a.b"] = np.arange(n) / 4, -np.arange(n)
a["m"] = np.arange(6 * n).reshape(n, 2, 3) % 30000
with h5py.File("t.h5", "w") as f:
    f.create_dataset("table", data=a, chunks=(100,), compression="gzip")
    f["grid"] = a.reshape(20, 50)
    f["plain"] = np.arange(3)
with tables.open_file("p.h5", "w") as f:
    f.create_table("/", "table", a[["id", "temperature", "name"]].astype([("id", "<i4"), ("temperature", "<f8"), ("name", "S4")]))
blosc2.asarray(a, urlpath="t.b2nd", mode="w", chunks=(300,))
out = {"[0:10].temperature": a[0:10]["temperature"], "[::-100].pos.x": a[::-100]["pos"]["x"], "[5:8].pos.a.b": a[5:8]["pos"]["a.b"],
       "[990:].m": a[990:]["m"], "[7].m": a[7]["m"], "[[3, 1, 2]].id": a[[3, 1, 2]]["id"], "[3].id": a[3]["id"]}
json.dump({k: v.tolist() for k, v in out.items()}, sys.stdout)`

func TestAddress_field(t *testing.T) {
	python, dir := testenv.Python(t, "h5py", "tables", "blosc2"), t.TempDir()
	out, err := exec.Command(python, "-c", tablesProgram, dir).Output()
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal(out, &want))
	at := func(name string) string { return filepath.Join(dir, name) }
	values := func(address string, flags ...string) any {
		t.Helper()
		var doc struct{ Values any }
		require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"dump", "--json", address}, flags...)...)), &doc))
		return doc.Values
	}
	for selection, v := range want {
		t.Run(selection, func(t *testing.T) {
			require.Equal(t, v, values(at("t.h5:/table")+selection))
			require.Equal(t, v, values(at("t.b2nd")+selection))
			require.Equal(t, v, values(at("t.h5:/table")+selection, "--untrusted"))
		})
	}
	t.Run("PyTables", func(t *testing.T) {
		require.Equal(t, want["[0:10].temperature"], values(at("p.h5:/table[0:10].temperature")))
	})
	t.Run("stats", func(t *testing.T) {
		var doc struct {
			Count    int
			Min, Max float64
		}
		require.NoError(t, json.Unmarshal([]byte(done(t, "stats", "--json", at("t.h5:/grid[2:4, :].id"))), &doc))
		require.Equal(t, 100, doc.Count)
		require.InDelta(t, 100, doc.Min, 0)
		require.InDelta(t, 199, doc.Max, 0)
	})
	t.Run("plot", func(t *testing.T) {
		for i, address := range []string{"t.h5:/table[:].temperature", "t.h5:/grid[:, :].pos.x", "t.h5:/table[7].m"} {
			name := at(string(rune('a'+i)) + ".svg")
			done(t, "plot", at(address), "-o", name)
			require.FileExists(t, name)
		}
	})
	t.Run("convert", func(t *testing.T) {
		done(t, "convert", at("t.h5:/table[:].m"), at("m.b2nd"))
		done(t, "convert", at("t.b2nd[:].temperature"), at("temperature.h5:/t"))
		done(t, "diff", at("m.b2nd"), at("t.b2nd[:].m"))
		done(t, "diff", at("temperature.h5:/t"), at("t.h5:/table[...].temperature"))
		require.Contains(t, done(t, "info", at("m.b2nd")), "1000x2x3")
		require.Regexp(t, "^name\n.*\n.*\n$", done(t, "dump", "--csv", at("t.h5:/table[0:2].name")))
	})
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"unknown field":        {[]string{"dump", at("t.h5:/table[:].speed")}, `no field "speed"; the fields are id, temperature, pos, m, name`},
		"unknown nested field": {[]string{"dump", at("t.h5:/table[:].pos.y")}, `pos: no field "y"; the fields are x, a.b`},
		"no structures":        {[]string{"stats", at("t.h5:/plain[:].x")}, "have no fields"},
		"DDL":                  {[]string{"dump", "--ddl", at("t.h5:/table[0:2].id")}, "DDL has whole structures"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := run(c.args...)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, c.want)
		})
	}
}

// variableProgram writes structures that also have fields of variable size, and prints the fields.
const variableProgram = `import json, os, sys
import h5py, numpy as np
os.chdir(sys.argv[1])
kind = np.dtype([("n", "<i4"), ("s", h5py.string_dtype()), ("v", h5py.vlen_dtype("<i2")),
    ("in", [("a", ">f8"), ("t", h5py.string_dtype("ascii"))]), ("m", "<u2", (2, 3)), ("f", "S3")])
a = np.zeros(7, kind)
a["n"], a["m"], a["f"] = -np.arange(7), np.arange(42).reshape(7, 2, 3), b"ab"
for k in range(7):
    a["s"][k], a["v"][k] = "s%d" % k, np.arange(k, dtype="i2")
    a["in"]["a"][k], a["in"]["t"][k] = k / 2, "t%d" % k
with h5py.File("v.h5", "w") as f:
    f.create_dataset("c", data=a, chunks=(3,))
    f["d"] = a
    f.create_dataset("u", (7,), kind, chunks=(2,))
b = h5py.File("v.h5")["c"][:]
out = {"[0:4].n": b["n"][0:4], "[::-2].in.a": b["in"]["a"][::-2], "[2:].m": b["m"][2:], "[5].m": b["m"][5]}
out = {k: v.tolist() for k, v in out.items()}
text = lambda x: [s.decode() for s in x]
out |= {"[1:3].s": text(b["s"][1:3]), "[:].in.t": text(b["in"]["t"]), "[3:].f": text(b["f"][3:]), "[:5].v": [x.tolist() for x in b["v"][:5]]}
json.dump(out, sys.stdout)`

func TestAddress_fieldOfVariableSize(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	out, err := exec.Command(python, "-c", variableProgram, dir).Output()
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal(out, &want))
	values := func(args ...string) any {
		t.Helper()
		var doc struct{ Values any }
		require.NoError(t, json.Unmarshal([]byte(done(t, append([]string{"dump", "--json"}, args...)...)), &doc))
		return doc.Values
	}
	name := filepath.Join(dir, "v.h5")
	for selection, v := range want {
		t.Run(selection, func(t *testing.T) {
			require.Equal(t, v, values(name+":/c"+selection))
			require.Equal(t, v, values(name+":/d"+selection))
			require.Equal(t, v, values(name+":/c"+selection, "--untrusted"))
		})
	}
	t.Run("unwritten", func(t *testing.T) {
		require.Equal(t, []any{0., 0.}, values(name+":/u[1:3].n"))
		require.Equal(t, []any{"", ""}, values(name+":/u[1:3].s"))
	})
	t.Run("convert", func(t *testing.T) {
		copied := filepath.Join(dir, "m.b2nd")
		done(t, "convert", name+":/c[:].m", copied)
		done(t, "diff", name+":/c[:].m", copied)
	})
}
