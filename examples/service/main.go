// Program service lists, reads, takes and appends arrays over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// service is a handler for the files in a directory. The options are those of reads.
type service struct {
	dir string
	hyperslab.OpenOptions
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	file, err := filepath.Join(s.dir, name), error(ndarray.ErrNotFound)
	base, kind, _ := strings.Cut(name, ".")
	switch r.Body = http.MaxBytesReader(w, r.Body, 64<<20); {
	case base == "" || kind != "h5" && kind != "b2nd" || strings.ContainsAny(base, `:\`):
	case r.Method == http.MethodPut:
		err = s.upload(r.Context(), file, r.Body)
	case r.Method == http.MethodPost:
		err = s.append(r.Context(), file, r.Body)
	case path == "" && kind == "h5":
		err = s.list(r.Context(), w, file)
	default:
		err = s.read(r.Context(), w, file+":/"+path, r.FormValue("selection"), r.FormValue("format"))
	}
	if err != nil {
		s.Logger.WarnContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "error", err)
		code := http.StatusBadRequest
		if errors.Is(err, ndarray.ErrNotFound) {
			code = http.StatusNotFound
		}
		http.Error(w, http.StatusText(code), code) // err contains names of files
	}
}

func (s *service) list(ctx context.Context, w io.Writer, file string) error {
	shapes := map[string][]int64{}
	for e, err := range hyperslab.Walk(ctx, file, &hyperslab.WalkOptions{Untrusted: s.Untrusted}) {
		if err != nil {
			return err
		}
		if e.Kind == hyperslab.Array {
			shapes[e.Path] = e.Meta.Shape
		}
	}
	return json.NewEncoder(w).Encode(shapes)
}

func (s *service) read(ctx context.Context, w io.Writer, location, selection, format string) error {
	a, err := hyperslab.Open(ctx, location, &s.OpenOptions)
	if err != nil {
		return err
	}
	defer a.Close()
	part, err := ndarray.ParseSelection(selection)
	if err != nil {
		return err
	}
	view, err := ndarray.View(a, part)
	if err != nil {
		return err
	}
	if format == "npy" {
		return hyperslab.Encode(ctx, w, view, hyperslab.NPY, nil)
	}
	return hyperslab.Encode(ctx, w, view, hyperslab.JSON, nil)
}

func (s *service) upload(ctx context.Context, file string, body io.Reader) error {
	f, err := os.CreateTemp(s.dir, "*.part")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close(), s.list(ctx, io.Discard, f.Name())); err != nil {
		return err
	}
	return os.Link(f.Name(), file) // fails if the file exists
}

func (s *service) append(ctx context.Context, file string, body io.Reader) error {
	var values []float64
	if err := json.NewDecoder(body).Decode(&values); err != nil {
		return err
	}
	a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Durable: true}) // waits for other writers
	if err != nil {
		return err
	}
	defer a.Close()
	return ndarray.Append(ctx, a, 0, values)
}

func main() {
	hyperslab.Init() // first: worker processes read the uploads
	options := hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{}, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	demonstrate(&service{".", options}) // or http.ListenAndServe("localhost:8080", &service{…})
}
