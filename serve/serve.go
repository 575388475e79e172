// Handler: options, routes, and the way from a request of HTTP to a response.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab"
	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
)

// Options are the options of New. Nil means the zero value.
type Options struct {
	// File is the only file of the directory that is served. "": all files.
	File string

	// URLs are objects that are served as files, in addition to those of the directory, under the
	// last elements of their paths. The program must import package remote. A trusted object is
	// read by ranges; others are copied to temporary files of at most Untrusted.MaxCopy bytes.
	URLs []string

	// Token must accompany each request: as the header "Authorization: Bearer TOKEN", as the
	// parameter token, or as a cookie that the page sets. "": requests need no token.
	Token string

	// Hosts are the names under which clients may reach the server, without a port, in addition to
	// localhost and IP addresses. Requests for other names are refused, because a page of another
	// site could make them (DNS rebinding).
	Hosts []string

	// Untrusted are the options for reading each file. Unless InProcess is set, the program must
	// call hyperslab.Init first in main.
	Untrusted hyperslab.Untrusted

	// Trusted reads files in the program's own process and does not check them first. Files still
	// cannot lead to files outside the directory.
	Trusted bool

	MaxBytes int64 // of a response before compression; default 64 MiB

	// Memory is the limit in bytes of all responses, cached ones too: 512 MiB by default, and at
	// least twice MaxBytes. They count in the memory of the process (ndarray.SetReadMemory), as the
	// blocks of ChunkCache do. Each worker has a limit of its own, the same as the process.
	Memory int64

	// Timeout is the time for the work of a response, and for each 32 KiB of it that a client
	// receives. A client must also receive a whole response in this time and one second for each
	// 64 KiB. Default 60 s.
	Timeout time.Duration

	Files      int   // files that stay open, each in a worker; default 8
	Cache      int64 // bytes of cached responses, at most a quarter of Memory; default 64 MiB
	ChunkCache int64 // bytes of decoded chunks per open file; default 64 MiB

	Log *slog.Logger // one record for each request, without tokens; nil: no log
}

func (o *Options) filled() (Options, error) {
	var x Options
	if o != nil {
		x = *o
	}
	x.MaxBytes = cmp.Or(x.MaxBytes, 64<<20)
	x.Memory = max(cmp.Or(x.Memory, 512<<20), 2*x.MaxBytes)
	x.Timeout = cmp.Or(x.Timeout, time.Minute)
	x.Files = cmp.Or(x.Files, 8)
	x.Cache = min(cmp.Or(x.Cache, 64<<20), x.Memory/4)
	x.ChunkCache = cmp.Or(x.ChunkCache, 64<<20)
	if x.MaxBytes < 1 || x.Memory < 1 || x.Timeout < 0 || x.Files < 1 || x.Cache < 0 || x.ChunkCache < 0 {
		return x, errors.New("serve: options: want positive limits")
	}
	if x.File != "" {
		name, err := fileName(x.File)
		if err != nil {
			return x, fmt.Errorf("serve: option File: %w", err)
		}
		x.File = name
	}
	if x.Untrusted.MaxArray == 0 {
		x.Untrusted.MaxArray = 1 << 40
	}
	if x.Untrusted.MaxChunk == 0 {
		x.Untrusted.MaxChunk = 512 << 20
	}
	if x.Untrusted.MaxMetadata == 0 {
		x.Untrusted.MaxMetadata = 64 << 20
	}
	if x.Untrusted.MaxCopy == 0 {
		x.Untrusted.MaxCopy = 1 << 30
	}
	if x.Untrusted.Memory == 0 {
		x.Untrusted.Memory = 2 << 30
	}
	if x.Log == nil {
		x.Log = slog.New(slog.DiscardHandler)
	}
	return x, nil
}

// Handler serves the arrays of a directory. Any number of goroutines may use it.
type Handler struct {
	options Options
	files   *files
	cache   *cache
	memory  *budget
	remove  func()   // ends the registration of cache in the memory of the process
	served  sync.Map // *connections of each call of Serve
	mux     *http.ServeMux
	cookie  string
	viewer  *frontEnd // nil without one
}

// New returns a handler for the files in dir. It opens them when clients ask for them. The caller
// must close the handler after the server. With Options.URLs, dir may be "": no directory.
//
// New returns an error for a missing directory, for an object that cannot be opened, and for
// invalid options.
func New(dir string, o *Options) (*Handler, error) { return newHandler(dir, o, viewer()) }

func newHandler(dir string, o *Options, front *frontEnd) (*Handler, error) {
	opts, err := o.filled()
	if err != nil {
		return nil, err
	}
	objects, err := remoteFiles(opts.URLs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), opts.Timeout)
	defer cancel()
	for name, r := range objects {
		if _, err := r.look(ctx, name); err != nil {
			return nil, cmp.Or(errors.Unwrap(err), err) // it contains the URL
		}
	}
	var root *os.Root
	if dir != "" || len(objects) == 0 {
		if root, err = os.OpenRoot(dir); err != nil {
			return nil, fmt.Errorf("serve %s: %w", dir, err)
		}
	}
	h := &Handler{options: opts, cache: &cache{limit: opts.Cache}, mux: http.NewServeMux(), viewer: front}
	h.remove = memory.OnWait(h.cache.free)
	h.memory = newBudget(opts.Memory, h.cache.clear)
	h.files = &files{root: root, remote: objects, options: &h.options}
	h.cookie = cookieName(opts.Token)
	for _, route := range []string{routeMeta, routeAttr, routeData, routePaths, routeStats} {
		h.mux.HandleFunc("GET /"+route+"/{$}", func(w http.ResponseWriter, r *http.Request) { h.content(w, r, route) })
		h.mux.HandleFunc("GET /"+route, func(w http.ResponseWriter, r *http.Request) { h.content(w, r, route) })
	}
	h.mux.HandleFunc("GET /{$}", h.root)
	h.c2Routes()
	h.frontEndRoutes()
	h.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h.mux.HandleFunc("GET /view", h.view)
	h.mux.HandleFunc("GET /picture", h.picture)
	return h, nil
}

// Close ends the workers and closes the files. Requests in progress end first.
func (h *Handler) Close() error {
	h.remove()
	h.cache.close()
	return h.files.close()
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	out := &writer{ResponseWriter: w, timeout: h.options.Timeout}
	defer func() {
		if x := recover(); x != nil {
			if x == http.ErrAbortHandler {
				panic(x)
			}
			h.options.Log.Error("panic", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(x))
			h.problem(out, fail(http.StatusInternalServerError, "internal error"))
		}
		h.options.Log.Info("request", "method", r.Method, "path", r.URL.Path, "file", r.URL.Query().Get("file"),
			"object", r.URL.Query().Get("path"), "status", out.status, "bytes", out.bytes, "duration", time.Since(start))
	}()
	secure(out.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		out.Header().Set("Allow", "GET, HEAD")
		h.problem(out, fail(http.StatusMethodNotAllowed, "method %s: the server is read-only", r.Method))
		return
	}
	if err := h.admit(r); err != nil {
		h.problem(out, err)
		return
	}
	h.served.Range(func(c, _ any) bool { c.(*connections).admitted(r.RemoteAddr); return true })
	if h.welcome(out, r) {
		return
	}
	if _, pattern := h.mux.Handler(r); pattern == "" {
		h.problem(out, fail(http.StatusNotFound, "no such page: %s", r.URL.Path))
		return
	}
	h.mux.ServeHTTP(out, r)
}

// root lists the files for a browser. Clients of h5grove find with this request that the server
// works.
func (h *Handler) root(w http.ResponseWriter, r *http.Request) {
	if wantsPage(r) {
		h.listFiles(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok"))
}

// problem writes an error in the form of h5grove.
func (h *Handler) problem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	body, err := jsonform.Marshal(map[string]string{"message": strings.ToValidUTF8(p.Message, "\uFFFD")})
	if err != nil {
		body = []byte(`{"message":"internal error"}`)
	}
	header := w.Header()
	for _, name := range []string{"Etag", "Content-Disposition", "Content-Encoding"} {
		header.Del(name)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	if p.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// maxKeys is the maximum number of attribute names in a request.
const maxKeys = 1000

// formatB2ND is the format of slices that the handler makes, not the reader of the file.
const formatB2ND = "b2nd"

// parse returns the request for a route.
func (h *Handler) parse(r *http.Request, route string) (file string, q request, err error) {
	v := r.URL.Query()
	file, err = fileName(v.Get("file"))
	if err != nil {
		return "", q, err
	}
	q = request{
		Route: route, Path: clean(v.Get("path")), Keys: v["attr_keys"], Selection: v.Get("selection"),
		Format: cmp.Or(v.Get("format"), "json"), Limit: h.options.MaxBytes,
	}
	bad := func(format string, args ...any) (string, request, error) {
		return "", q, fail(http.StatusUnprocessableEntity, format, args...)
	}
	if len(q.Keys) > maxKeys {
		return bad("%d values of attr_keys, at most %d", len(q.Keys), maxKeys)
	}
	switch x := v.Get("flatten"); strings.ToLower(x) {
	case "", "false", "0":
	case "true", "1":
		q.Flatten = true
	default:
		return bad("flatten %q: want true or false", x)
	}
	if x := v.Get("unpack"); x != "" {
		if q.Unpack = x == "true"; route != routeStats || !q.Unpack && x != "false" {
			return bad("unpack %q: want true or false, for /stats", x)
		}
	}
	switch x := v.Get("dtype"); x {
	case "", "origin":
	case "safe":
		q.Safe = true
	default:
		return bad("Unsupported dtype %s", x)
	}
	switch x := strings.ToLower(v.Get("resolve_links")); x {
	case "", resolveValid:
		q.Resolve = resolveValid
	case "true", resolveAll:
		q.Resolve = resolveAll
	case "false", resolveNone:
		q.Resolve = resolveNone
	default:
		return bad("resolve_links %q: want %s, %s or %s", x, resolveAll, resolveValid, resolveNone)
	}
	switch q.Format {
	case "json", "bin", "npy", "csv", "tiff":
	case formatB2ND:
		if route != routeData {
			return bad("Unsupported encoding %s", q.Format)
		}
		if q.Flatten || q.Safe {
			return bad("format b2nd: got flatten=%t and dtype=safe %t, want neither, because a slice keeps its shape and type", q.Flatten, q.Safe)
		}
	default:
		return bad("Unsupported encoding %s", q.Format)
	}
	return file, q, nil
}

// tag returns the ETag of a response to a request for a file with this signature.
func (q *request) tag(name string, sig signature) string {
	s := sha256.New()
	_ = json.NewEncoder(s).Encode([]any{name, sig[:], q})
	return hex.EncodeToString(s.Sum(nil)[:16])
}

// content answers the routes of h5grove.
func (h *Handler) content(w http.ResponseWriter, r *http.Request, route string) {
	name, q, err := h.parse(r, route)
	switch {
	case err != nil:
	case q.Format == formatB2ND:
		err = h.b2nd(w, r, name, &q)
	default:
		err = h.reply(w, r, name, &q)
	}
	if err != nil {
		h.problem(w, err)
	}
}

// reply answers a request for the content of a file.
func (h *Handler) reply(w http.ResponseWriter, r *http.Request, name string, q *request) error {
	sig, keep, err := h.files.look(r.Context(), name)
	if err != nil {
		return err
	}
	tag := q.tag(name, sig)
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache") // valid as long as the ETag is
	header.Set("Vary", "Accept-Encoding, Authorization, Cookie")
	encoding := acceptedEncoding(r)
	if keep {
		header.Set("Etag", `"`+tag+`"`)
		if unchanged(r, tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	x, held, err := h.fetch(ctx, name, sig, keep, tag, q)
	if err != nil {
		return err
	}
	defer held.release()
	header.Set("Content-Type", x.Type)
	if x.File != "" {
		header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", downloadName(name, q.Path, x.File)))
	}
	return h.send(w, r, x, tag, encoding)
}

// fetch returns a response from the cache or from the file, with its share of the memory. It first
// asks for a small response, because most are small and need not wait for the memory of large ones.
func (h *Handler) fetch(ctx context.Context, name string, sig signature, keep bool, tag string, q *request) (x response, held *share, err error) {
	if keep {
		if x, held, ok := h.cache.get(tag); ok {
			return x, held, nil
		}
	}
	for _, limit := range []int64{min(h.memory.limit, q.Limit), q.Limit} {
		if held, err = h.memory.take(ctx, limit); err != nil {
			return x, nil, err
		}
		part := *q
		part.Limit = limit
		if x, err = h.files.answer(ctx, name, sig, keep, &part); err == nil {
			held.shrink(int64(len(x.Body)))
			if keep {
				h.cache.put(tag, x, held)
			}
			return x, held, nil
		}
		held.release()
		if limit == q.Limit || problemOf(err).Status != http.StatusRequestEntityTooLarge {
			break
		}
	}
	return x, nil, err
}

// downloadName returns a file name for a download: that of the array with the extension of kind.
func downloadName(name, object, kind string) string {
	base := baseName(object)
	if base == "" {
		base = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	base = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/:*?<>|;%`, r) {
			return '_'
		}
		return r
	}, base)
	return base + path.Ext(kind)
}

// unchanged reports whether the client has the response already.
func unchanged(r *http.Request, tag string) bool {
	for x := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		x = strings.TrimPrefix(strings.TrimSpace(x), "W/")
		if x == "*" || strings.HasPrefix(x, `"`+tag) {
			return true
		}
	}
	return false
}

// send writes a response. Without compression it supports ranges. The compressed body is shorter
// than the response. If there is no memory for it, the response is sent without compression.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, x response, tag, encoding string) error {
	if encoding != "" {
		held := h.memory.try(int64(len(x.Body)))
		if held == nil {
			encoding = ""
		} else {
			defer held.release()
		}
	}
	if packed, ok := compress(x, encoding); ok {
		w.Header().Set("Content-Encoding", encoding)
		w.Header().Set("Etag", `"`+tag+"-"+encoding+`"`)
		w.Header().Set("Content-Length", fmt.Sprint(len(packed)))
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = w.Write(packed)
		}
		return nil
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(x.Body))
	return nil
}
