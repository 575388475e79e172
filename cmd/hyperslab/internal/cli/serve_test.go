package cli_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestServe starts the server as a process and reads an array from it, with and without a sandbox.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{4}}
	create(t, filepath.Join(dir, "a.b2nd"), spec, []int32{10, 11, 12, 13})
	create(t, filepath.Join(dir, "other.b2nd"), spec, []int32{1, 2, 3, 4})
	upstream := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(upstream.Close)
	empty := t.TempDir()
	for name, x := range map[string]struct {
		args  []string
		token string
		other int // HTTP status for the file other.b2nd
	}{
		"directory":           {[]string{dir}, "", 200},
		"file":                {[]string{filepath.Join(dir, "a.b2nd"), "--sandbox=false"}, "", 404},
		"URL":                 {[]string{upstream.URL + "/a.b2nd", "--allow-private"}, "", 404},
		"directory and URL":   {[]string{empty, upstream.URL + "/a.b2nd", upstream.URL + "/other.b2nd", "--allow-private", "--trusted"}, "", 200},
		"token in a variable": {[]string{dir, "--auth", "env", "--log"}, "0123456789abcdef", 200},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("hyperslab", append([]string{"serve", "--listen", "127.0.0.1:0"}, x.args...)...)
			cmd.Env = append(os.Environ(), "HYPERSLAB_TOKEN="+x.token)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			var diagnostics strings.Builder
			cmd.Stderr = &diagnostics
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				require.NoError(t, cmd.Process.Kill())
				require.Error(t, cmd.Wait())
				require.NoError(t, err, diagnostics.String())
			}
			address, token, ok := strings.Cut(strings.TrimSpace(line), "?token=")
			require.True(t, ok, line)
			get := func(target, token string) (int, string) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+target, nil)
				require.NoError(t, err)
				r.Header.Set("Authorization", "Bearer "+token)
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				defer func() { require.NoError(t, resp.Body.Close()) }()
				b, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return resp.StatusCode, string(b)
			}
			status, body := get("data?file=a.b2nd&path=/a&selection=1:3", token)
			require.Equal(t, 200, status, body)
			require.Equal(t, "[11,12]", body)
			status, _ = get("data?file=a.b2nd&path=/a", "wrong")
			require.Equal(t, 401, status)
			status, _ = get("meta?file=other.b2nd", token)
			require.Equal(t, x.other, status)
			http.DefaultClient.CloseIdleConnections()
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), diagnostics.String())
			require.NotContains(t, diagnostics.String(), token)
			require.Equal(t, x.token != "", strings.Contains(diagnostics.String(), "status=401"), diagnostics.String())
		})
	}
	for name, args := range map[string][]string{
		"auth env":     {dir, "--auth", "env"},
		"auth":         {dir, "--auth", "password"},
		"max-response": {dir, "--max-response", "0"},
		"listen":       {dir, "--listen", "nowhere"},
		"timeout":      {dir, "--timeout", "0s"},
		"private":      {upstream.URL + "/a.b2nd"},
		"and":          {dir, filepath.Join(dir, "a.b2nd")},
		"missing":      {filepath.Join(dir, "missing")},
	} {
		t.Run("invalid "+name, func(t *testing.T) {
			t.Setenv("HYPERSLAB_TOKEN", "short")
			_, stderr, code := run(append([]string{"serve"}, args...)...)
			require.NotZero(t, code)
			require.Contains(t, stderr, name, stderr)
		})
	}
}
