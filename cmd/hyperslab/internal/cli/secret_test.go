// Tests that no command writes the query of a URL.

package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun_secretQuery(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	b, err := os.ReadFile("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.h5"), b, 0o600))
	_, stderr, code := run("convert", "--exclude-unsupported", dir+"/e.h5", dir+"/e.b2z")
	require.Zero(t, code, stderr)
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer s.Close()

	const query = "?X-Signature=TOPSECRET&part=1"
	for _, at := range []struct{ url, object string }{
		{s.URL + "/e.h5" + query, ":/ROSE"}, {s.URL + "/e.b2z" + query, ":/ROSE"}, {s.URL + "/e.h5" + query, ":/none"}, {s.URL + "/none.h5" + query, ""},
	} {
		url, object := at.url, at.url+at.object
		list := filepath.Join(out, "list")
		require.NoError(t, os.WriteFile(list, []byte(url+"\n"), 0o600))
		for _, args := range [][]string{
			{"ls", url}, {"ls", "-r", "--json", url}, {"tree", url}, {"tree", "--json", url}, {"info", object}, {"info", "--json", object},
			{"info", "--storage", url}, {"info", "--storage", object}, {"info", "--meta", object}, {"dump", object}, {"dump", "--json", object},
			{"dump", "--ddl", url}, {"stats", object}, {"stats", "--json", object}, {"chunks", object}, {"chunks", "--json", object},
			{"explain", object}, {"explain", "--json", url}, {"verify", url}, {"verify", "--json", url}, {"verify", "--files-from", list},
			{"scan", url}, {"scan", "--json", url}, {"scan", "--sarif", url}, {"attr", "list", object}, {"attr", "list", "--json", object},
			{"attr", "get", object, "none"}, {"attr", "set", object, "a=1"}, {"plot", object}, {"plot", object, "-f", "-o", out + "/p.svg"},
			{"index", url, "-f", "-o", out + "/x.index"}, {"index", url, "-f", "--kerchunk", "json", "-o", out + "/k.json"},
			{"diff", url, url}, {"diff", "--json", url, dir + "/e.b2z"},
			{"convert", url, out + "/c.h5", "-f"}, {"convert", "--json", object, out + "/c.b2nd", "-f"},
			{"convert", "--dry-run", url, out + "/dry.b2z"}, {"repack", url, out + "/r.h5", "-f"}, {"cp", object, out + "/cp.h5:/x", "-f"},
			{"recover", url, out + "/rec.h5", "-f"}, {"recover", "--json", url, out + "/rec.h5", "-f"}, {"virtual", out + "/v.h5:/v", object, "-f"},
			{"append", object, object}, {"rm", object}, {"bench", object}, {"crosscheck", "verify", url}, {"convert", url, url},
			{"info", "--untrusted", object}, {"verify", "--untrusted", url}, {"ls", "--url-index", out + "/x.index=" + url, url},
			{"lss", url}, {"ls", url + "/more", "--wrong"},
		} {
			stdout, stderr, _ := run(append(args, "--allow-private")...)
			shown := strings.ReplaceAll(strings.Join(args, " "), s.URL, "")
			require.NotContains(t, stdout, "TOPSECRET", shown)
			require.NotContains(t, stderr, "TOPSECRET", shown)
		}
	}
	require.NoError(t, filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "list" {
			return err
		}
		b, err := os.ReadFile(path)
		require.NotContains(t, string(b), "TOPSECRET", path)
		return err
	}))
}
