package serve_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// TestHandler_stores serves containers and tables with several columns that python-blosc2 and bcolz
// wrote, and reads them with the client of python-blosc2.
func TestHandler_stores(t *testing.T) {
	python := testenv.Python(t, "blosc2", "bcolz", "httpx", "numpy")
	dir := t.TempDir()
	out, err := exec.Command(python, "testdata/stores.py", "write", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	table := filepath.Join(t.TempDir(), "table.h5")
	columns(t, table)
	_, err = copyTree(filepath.Join(dir, "columns.b2z"), table, &hyperslab.TreeOptions{Table: true})
	require.NoError(t, err)
	const token = "the token of a test"
	for mode, o := range map[string]*serve.Options{"worker": {}, "trusted": {Trusted: true}} {
		t.Run(mode, func(t *testing.T) {
			o.Token = token
			s := newServer(t, dir, o)
			auth := []string{"Authorization", "Bearer " + token}
			for target, want := range map[string]string{
				"/paths?file=embed.b2e&path=/":                     `["/","/a","/a/grid","/one"]`,
				"/data?file=embed.b2e&path=/a/grid&selection=2,:3": `[20,21,22]`,
				"/data?file=embed.b2e&path=/one":                   `[0.0,0.25,0.5,0.75,1.0]`,
				"/paths?file=table.bcolz&path=/":                   `["/","/n","/x","/s"]`,
				"/data?file=table.bcolz&path=/n":                   `[-3,-2,-1,0,1,2,3]`,
				"/data?file=table.bcolz&path=/s&selection=:2":      `["a","bc"]`,
				"/data?file=columns.b2z&path=/x&selection=4:":      `[1.0,1.25,1.5]`,
				"/attr?file=embed.b2e&path=/a/grid":                `{}`,
				"/data?file=columns.b2z&path=/n&selection=::3":     `[-3,0,3]`,
			} {
				status, _, body := get(t, s, target, auth...)
				require.Equal(t, 200, status, "%s: %s", target, body)
				if want[0] == '[' && target[1] == 'p' {
					require.ElementsMatch(t, stringsOf(t, []byte(want)), stringsOf(t, body), target)
					continue
				}
				require.JSONEq(t, want, string(body), target)
			}
			for _, target := range []string{"/view?file=table.bcolz", "/view?file=embed.b2e", "/view?file=columns.b2z&path=/x"} {
				status, _, body := get(t, s, target, append(auth, "Accept", "text/html")...)
				require.Equal(t, 200, status, "%s: %s", target, body)
				require.NotContains(t, string(body), `class="error"`, target)
			}
			sum := sha256.Sum256([]byte(token))
			cookie := "hyperslab_" + hex.EncodeToString(sum[:4]) + "=" + token
			out, err := exec.Command(python, "testdata/stores.py", "read", s.URL, cookie, dir).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, "ok\n", string(out))
		})
	}
}

// stringsOf decodes a list.
func stringsOf(t *testing.T, body []byte) (out []string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(body, &out))
	return out
}

// columns writes the two numeric columns of the table of stores.py as datasets.
func columns(t *testing.T, file string) {
	t.Helper()
	n, x := make([]int64, 7), make([]float64, 7)
	for i := range n {
		n[i], x[i] = int64(i)-3, float64(i)/4
	}
	save(t, file+":/n", n)
	save(t, file+":/x", x)
}

func save[T int64 | float64](t *testing.T, location string, values []T) {
	t.Helper()
	d, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{int64(len(values))}, DType: ndarray.DTypeOf[T]()}, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	require.NoError(t, d.Close())
}
