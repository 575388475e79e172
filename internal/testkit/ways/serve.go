// Ways of package serve: the elements of /data in each format, and statistics.

package ways

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// Serve returns the ways of a server of the set: trusted and in workers.
func Serve(t testing.TB, s *Set, reference *Reference) (out []Way) {
	t.Helper()
	slice := filepath.Join(t.TempDir(), "slice")
	for _, trusted := range []bool{true, false} {
		h, err := serve.New(s.Dir, &serve.Options{Trusted: trusted, Untrusted: *permissive(serve.Options{}.Untrusted)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
		name := "serve"
		if !trusted {
			name = "serve+worker"
		}
		out = append(out,
			Way{Slow: !trusted, Name: name + ", bin", Start: Stateless(data(h, "bin", func(ctx context.Context, a *Array, r ndarray.Region, dst, body []byte) error {
				if len(body) != len(dst) {
					return fmt.Errorf("elements of %d bytes, want %d", len(body), len(dst))
				}
				d, err := a.ElementType(ctx)
				copy(dst, body)
				d.ToNative(dst)
				return err
			}))},
			Way{Slow: !trusted, Name: name + ", npy", Start: Stateless(data(h, "npy", func(_ context.Context, a *Array, _ ndarray.Region, dst, body []byte) error { return FillNPY(dst, body) }))},
			Way{Slow: !trusted, Name: name + ", json", Text: true, Finite: true, Start: Stateless(data(h, "json", func(ctx context.Context, a *Array, r ndarray.Region, dst, body []byte) error {
				d, err := a.ElementType(ctx)
				if err != nil {
					return err
				}
				return FillJSON(a, r, d, dst, body, "")
			}))},
			Way{Slow: true, Name: name + ", csv", Text: true, Start: Stateless(data(h, "csv", func(ctx context.Context, a *Array, r ndarray.Region, dst, body []byte) error {
				d, err := a.ElementType(ctx)
				if err != nil {
					return err
				}
				switch d.Kind {
				case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Float:
				default:
					return ErrForm // strings are not quoted, as numpy.savetxt writes them
				}
				return FillCSV(a, r, d, dst, append([]byte("header\n"), body...))
			}))},
			Way{Slow: true, Name: name + ", b2nd", Start: Stateless(data(h, "b2nd", func(_ context.Context, a *Array, _ ndarray.Region, dst, body []byte) error {
				if a.Dims["dtype"] == "sub" {
					return ErrForm // python-blosc2 returns the stored order of bytes
				}
				file := slice + name + ".b2nd"
				if err := os.WriteFile(file, body, 0o600); err != nil {
					return err
				}
				return reference.Fill("b2nd", file, "/", dst)
			}))},
			Way{Slow: true, Name: name + ", C2Array", Start: Stateless(c2array(t, h, reference))},
			Way{Slow: !trusted, Name: name + ", stats", Whole: true, Start: Stateless(stats(h))},
		)
	}
	return out
}

// c2array reads arrays with the client of python-blosc2: one of 8 requests, because each takes
// long.
func c2array(t testing.TB, h http.Handler, reference *Reference) Read {
	site := httptest.NewServer(h)
	t.Cleanup(site.Close)
	seen := 0
	return func(_ context.Context, a *Array, r ndarray.Region, dst []byte) error {
		if seen++; seen%8 != 1 {
			return ErrForm
		}
		if a.Dims["dtype"] == "sub" {
			return ErrForm // python-blosc2 returns the stored order of bytes
		}
		name := a.File.Name
		if a.Path != "/" {
			name += a.Path
		}
		if len(r.Start) > 0 {
			name += "|" + strings.Trim(strings.ReplaceAll(Selection(r), " ", ""), "[]")
		}
		err := reference.Fill("c2array", site.URL, name, dst)
		if err != nil && (strings.Contains(err.Error(), "422 Unprocessable Entity") || strings.Contains(err.Error(), "403 Forbidden")) {
			err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return err
	}
}

// data requests elements in a format.
func data(h http.Handler, format string, fill func(ctx context.Context, a *Array, r ndarray.Region, dst, body []byte) error) Read {
	return func(ctx context.Context, a *Array, r ndarray.Region, dst []byte) error {
		q := url.Values{"file": {a.File.Name}, "path": {a.served()}, "format": {format}}
		if len(r.Start) > 0 {
			q.Set("selection", strings.Trim(strings.ReplaceAll(Selection(r), " ", ""), "[]"))
		}
		body, err := get(ctx, h, "/data?"+q.Encode())
		if err != nil {
			return err
		}
		return fill(ctx, a, r, dst, body)
	}
}

// served returns the path of an array at the server. A file with one array is a group that contains
// the array under the name of the file without its extension.
func (a *Array) served() string {
	if a.Path != "/" {
		return a.Path
	}
	base := path.Base(a.File.Name)
	return "/" + strings.TrimSuffix(base, path.Ext(base))
}

// get returns the body of a response. Status 403, 422 and 501 are errors.ErrUnsupported.
func get(ctx context.Context, h http.Handler, target string) ([]byte, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+target, nil))
	switch w.Code {
	case http.StatusOK:
		return w.Body.Bytes(), nil
	case http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusForbidden:
		return nil, fmt.Errorf("status %d: %s: %w", w.Code, w.Body, errors.ErrUnsupported)
	}
	return nil, fmt.Errorf("status %d: %s", w.Code, w.Body)
}

// stats compares the statistics of /stats.
func stats(h http.Handler) Read {
	return func(ctx context.Context, a *Array, _ ndarray.Region, dst []byte) error {
		d, err := a.ElementType(ctx)
		if err != nil {
			return err
		}
		if !HasStats(d) {
			return ErrForm
		}
		body, err := get(ctx, h, "/stats?"+url.Values{"file": {a.File.Name}, "path": {a.served()}}.Encode())
		if err != nil {
			return err
		}
		copy(dst, a.Want)
		return CheckStats(a, d, body)
	}
}
