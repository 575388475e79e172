// Tests of arrays on Caterva2 servers.

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// startCaterva2 starts the server of the Caterva2 project on the loopback address with the files of
// the directory public. scripts/caterva2.sh installs it and sets the variable.
func startCaterva2(t *testing.T, public string) (base string) {
	program := os.Getenv("HYPERSLAB_CATERVA2_SERVER")
	if program == "" {
		t.Skip("NOT TESTED: HYPERSLAB_CATERVA2_SERVER is not set; scripts/caterva2.sh sets it")
	}
	state := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(state, "public"), os.DirFS(public)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	cmd := exec.CommandContext(context.Background(), program, "--listen", address, "--statedir", state)
	var log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = state, &log, &log
	cmd.Env = append(os.Environ(), "CATERVA2_SECRET=secret")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // the error of a killed process
		if t.Failed() {
			t.Log(log.String())
		}
	})
	base = "http://" + address
	for ready := false; !ready; time.Sleep(50 * time.Millisecond) {
		require.NoError(t, t.Context().Err())
		h, err := http.Get(base + "/api/list/@public")
		if err == nil {
			ready = h.StatusCode == http.StatusOK
			require.NoError(t, h.Body.Close())
		}
	}
	return base
}

// refused checks the errors for an object that the server computes for each request, and so has no
// ranges of it.
func refused(t *testing.T, url, want string) {
	t.Helper()
	_, stderr, code := run("stats", url, "--allow-private")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, want)
	_, err := remote.NewClient(&remote.Options{AllowPrivate: true}).Open(t.Context(), url)
	require.ErrorIs(t, err, remote.ErrResponse)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestRun_caterva2(t *testing.T) {
	dir := t.TempDir()
	values := make([]int32, 200*300)
	for i := range values {
		values[i] = int32(i)
	}
	create(t, dir+"/a.b2nd", ndarray.Spec{Shape: []int64{200, 300}, ChunkShape: []int64{50, 100}, Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("m")}}}, values)
	check := func(t *testing.T, base string) {
		url := base + "/api/fetch/@public/a.b2nd"
		for _, command := range []string{"dump", "stats", "attr list"} {
			args := append(append([]string{}, strings.Fields(command)...), dir+"/a.b2nd")
			want, _, _ := run(args...)
			args[len(args)-1] = url
			got, stderr, code := run(append(args, "--allow-private")...)
			require.Zero(t, code, stderr)
			if command == "dump" {
				require.Equal(t, want, got)
			}
		}
		_, stderr, code := run("diff", dir+"/a.b2nd", url, "--allow-private")
		require.Zero(t, code, stderr)
		got, stderr, code := run("dump", "--csv", url+"[7, 100:103]", "--allow-private")
		require.Zero(t, code, stderr)
		want, _, _ := run("dump", "--csv", dir+"/a.b2nd[7, 100:103]")
		require.Equal(t, want, got)
		_, _, code = run("info", base+"/api/fetch/@public/none.b2nd", "--allow-private")
		require.Equal(t, 2, code)
	}
	t.Run("documented route", func(t *testing.T) {
		routes := http.NewServeMux()
		routes.Handle("GET /api/fetch/@public/", http.StripPrefix("/api/fetch/@public/", http.FileServer(http.Dir(dir))))
		s := httptest.NewServer(routes)
		defer s.Close()
		check(t, s.URL)
	})
	t.Run("route without ranges", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Accept-Ranges", "none")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		}))
		defer s.Close()
		refused(t, s.URL+"/api/fetch/@public/lazy.b2nd", "Accept-Ranges: none")
	})
	for name, tt := range map[string]struct {
		status int
		info   string
		want   string
	}{
		"lazy expression":         {http.StatusRequestedRangeNotSatisfiable, `{"shape": [2], "dtype": "int32", "expression": "o0 + 1", "operands": {"o0": "@public/a.b2nd"}, "mtime": null}`, `got a lazy expression ("o0 + 1"), want a stored array`},
		"untrusted expression":    {http.StatusInternalServerError, `{"shape": null, "dtype": null, "expression": "o0 + 1", "operands": {}, "mtime": null}`, `got a lazy expression`},
		"missing operands":        {http.StatusRequestedRangeNotSatisfiable, `{"error": "missing", "expr": "o0 + 1", "missing_ops": {}}`, "got a lazy expression"},
		"ctable":                  {http.StatusRequestedRangeNotSatisfiable, `{"kind": "ctable", "nrows": 1}`, "got a ctable"},
		"HDF5 dataset":            {http.StatusRequestedRangeNotSatisfiable, `{"shape": [2], "schunk": {"nbytes": 8}, "accept_ranges": "none"}`, "got an array that the server assembles"},
		"invalid description":     {http.StatusRequestedRangeNotSatisfiable, `<html>`, "Accept-Ranges: none"},
		"description not allowed": {http.StatusRequestedRangeNotSatisfiable, ``, "Accept-Ranges: none"},
	} {
		t.Run("kind/"+name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/info/@public/x.b2nd" && tt.info != "" {
					_, err := w.Write([]byte(tt.info))
					require.NoError(t, err)
					return
				}
				w.Header().Set("Accept-Ranges", "none")
				w.WriteHeader(tt.status)
			}))
			defer s.Close()
			_, err := remote.NewClient(&remote.Options{AllowPrivate: true, Retries: -1}).Open(t.Context(), s.URL+"/api/fetch/@public/x.b2nd")
			require.ErrorIs(t, err, remote.ErrResponse)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("server of the project", func(t *testing.T) {
		public := t.TempDir()
		require.NoError(t, os.CopyFS(public, os.DirFS(dir)))
		python := filepath.Join(filepath.Dir(os.Getenv("HYPERSLAB_CATERVA2_SERVER")), "python")
		if _, err := os.Stat(python); err == nil {
			create(t, public+"/x.h5:/g/a", ndarray.Spec{Shape: []int64{200, 300}, ChunkShape: []int64{50, 100}}, values)
			const script = `import sys, blosc2
a = blosc2.open(sys.argv[1] + "/a.b2nd")
(a + 1).save(urlpath=sys.argv[1] + "/lazy.b2nd")
with blosc2.TreeStore(sys.argv[1] + "/tree.b2z", mode="w") as store:
    store["/g/a"] = a[:]
`
			out, err := exec.Command(python, "-c", script, public).CombinedOutput()
			require.NoError(t, err, string(out))
		}
		base := startCaterva2(t, public)
		check(t, base)
		want, _, _ := run("dump", dir+"/a.b2nd")
		t.Run("container", func(t *testing.T) {
			got, stderr, code := run("dump", base+"/api/fetch/@public/tree.b2z:/g/a", "--allow-private")
			require.Zero(t, code, stderr)
			require.Equal(t, want, got)
		})
		t.Run("member of a container", func(t *testing.T) {
			got, stderr, code := run("dump", base+"/api/fetch/@public/tree.b2z/g/a", "--allow-private")
			require.Zero(t, code, stderr)
			require.Equal(t, want, got)
		})
		t.Run("HDF5 proxy", func(t *testing.T) {
			refused(t, base+"/api/fetch/@public/x.h5/g/a", "got an array that the server assembles")
		})
		t.Run("lazy expression", func(t *testing.T) {
			// This server does not trust an expression in a file, and answers with status 500 on
			// both routes, so that the kind is unknown.
			_, err := remote.NewClient(&remote.Options{AllowPrivate: true, Retries: -1}).Open(t.Context(), base+"/api/fetch/@public/lazy.b2nd")
			require.ErrorIs(t, err, remote.ErrResponse)
		})
		t.Run("download", func(t *testing.T) { refused(t, base+"/api/download/@public/x.h5", "Accept-Ranges: none") })
		t.Run("slice", func(t *testing.T) { refused(t, base+"/api/fetch/@public/a.b2nd?slice_=0:10", "Accept-Ranges: none") })
	})
}
