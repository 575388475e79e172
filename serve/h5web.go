// The viewer h5web, in builds after `make web`. Its files come from the build, not from users.

package serve

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// h5webFiles contains dist if `make web` has made it. The other file of the directory lets the
// package compile without it.
//
//go:embed h5web
var h5webFiles embed.FS

// viewer is the front end that `make web` built, nil without one.
var viewer = sync.OnceValue(func() *frontEnd {
	files, err := fs.Sub(h5webFiles, "h5web/dist")
	if err != nil {
		return nil
	}
	return newFrontEnd(files)
})

// frontEnd is a viewer that runs in the browser.
type frontEnd struct{ assets map[string]asset }

type asset struct {
	response
	tag string
}

// frontEndTypes are the content types by the extensions of the files.
var frontEndTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
}

// newFrontEnd returns the front end with these files, or nil without index.html.
func newFrontEnd(files fs.FS) *frontEnd {
	f := &frontEnd{assets: map[string]asset{}}
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind, ok := frontEndTypes[path.Ext(name)]
		if !ok {
			kind = "application/octet-stream"
		}
		sum := sha256.Sum256(body)
		f.assets[name] = asset{response{Type: kind, Body: body}, hex.EncodeToString(sum[:16])}
		return nil
	})
	if _, ok := f.assets["index.html"]; err != nil || !ok {
		return nil
	}
	return f
}

// frontEndRoutes registers the files of the front end below /h5web/.
func (h *Handler) frontEndRoutes() {
	if h.viewer == nil {
		return
	}
	h.mux.HandleFunc("GET /h5web/{name...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if name == "" {
			name = "index.html"
		}
		x, ok := h.viewer.assets[name]
		if !ok {
			h.problem(w, fail(http.StatusNotFound, "no such page: %s", r.URL.Path))
			return
		}
		header := w.Header()
		header.Set("Content-Type", x.Type)
		header.Set("Vary", "Accept-Encoding, Authorization, Cookie")
		header.Set("Etag", `"`+x.tag+`"`)
		header.Set("Cache-Control", "private, no-cache")
		if strings.HasPrefix(name, "assets/") { // the name contains a hash of the content
			header.Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		if unchanged(r, x.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if err := h.send(w, r, x.response, x.tag, acceptedEncoding(r)); err != nil {
			h.problem(w, err)
		}
	})
}
