// The read routes of Caterva2, with which python-blosc2 opens arrays: blosc2.C2Array(path, url).

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/chunked"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// c2Root is the name of the only root.
const c2Root = "data"

// maxListed is the maximum number of files in a list.
const maxListed = 10000

// c2Routes registers the routes.
func (h *Handler) c2Routes() {
	h.mux.HandleFunc("GET /api/roots", func(w http.ResponseWriter, _ *http.Request) {
		h.writeJSON(w, map[string]any{c2Root: map[string]string{"name": c2Root}})
	})
	h.mux.HandleFunc("GET /api/list/"+c2Root, h.c2List)
	for route, f := range map[string]func(http.ResponseWriter, *http.Request, string) error{
		"info": h.c2Info, "fetch": h.c2Fetch, "chunk": h.c2Chunk, "download": h.c2Download,
	} {
		h.mux.HandleFunc("GET /api/"+route+"/"+c2Root+"/{path...}", func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
			defer cancel()
			if err := f(w, r.WithContext(ctx), r.PathValue("path")); err != nil {
				h.problem(w, err)
			}
		})
	}
}

func (h *Handler) writeJSON(w http.ResponseWriter, doc any) {
	x, err := jsonBody(doc, h.options.MaxBytes)
	if err != nil {
		h.problem(w, err)
		return
	}
	w.Header().Set("Content-Type", x.Type)
	w.Header().Set("Content-Length", strconv.Itoa(len(x.Body)))
	_, _ = w.Write(x.Body)
}

// c2List lists the files that are not hidden.
func (h *Handler) c2List(w http.ResponseWriter, _ *http.Request) {
	list := append([]string{}, slices.Sorted(maps.Keys(h.files.remote))...)
	if only := h.options.File; only != "" {
		h.writeJSON(w, append(list, only))
		return
	}
	if h.files.root == nil {
		h.writeJSON(w, list)
		return
	}
	err := fs.WalkDir(h.files.root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || p == ".":
			return err
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(e.Name(), ".") || e.IsDir():
			return nil
		case len(list) == maxListed:
			return fs.SkipAll
		}
		list = append(list, p)
		return nil
	})
	if err != nil {
		h.problem(w, openError(".", err))
		return
	}
	h.writeJSON(w, list)
}

// c2Array is an array as python-blosc2 sees it.
type c2Array struct {
	valid bool // null elements are an error; otherwise they are returned as stored, as in python-blosc2

	name, path    string // of the file, and of the array in it
	raw           bool   // the file itself is the array's frame
	attributes    int    // their number
	shape         []int64
	chunks, block []int64
	dtype         ndarray.DType
}

// c2Find returns the array at a path below the root: the path of a file, and the path of an array
// in the file unless it has only one.
func (h *Handler) c2Find(ctx context.Context, p string) (*c2Array, error) {
	p, err := fileName(p)
	if err != nil {
		return nil, err
	}
	var m metaDoc
	a := &c2Array{}
	for end := range strings.SplitSeq(p, "/") {
		a.name = path.Join(a.name, end)
		a.path = clean(strings.TrimPrefix(p, a.name))
		err = h.askJSON(ctx, a.name, &request{Route: routeMeta, Path: a.path, Format: "json", Resolve: resolveValid}, &m)
		if err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return a, h.complete(ctx, a, m)
}

// complete sets the fields of an array from the metadata of the object at its path.
func (h *Handler) complete(ctx context.Context, a *c2Array, m metaDoc) (err error) {
	if a.path == "/" && m.Kind == "group" && len(m.Children) == 1 && m.Children[0].Kind == "dataset" {
		a.path, m = "/"+m.Children[0].Name, m.Children[0]
		_, _, regular, err := h.files.stat(ctx, a.name)
		a.raw = err == nil && regular && path.Ext(a.name) == ".b2nd"
	}
	name, ok := "", false
	if m.Type != nil {
		name, ok = m.Type.DType.(string)
	}
	if m.Kind != "dataset" || m.Shape == nil || !ok || name == "|O" {
		return fail(http.StatusUnprocessableEntity, "%s: a %s that python-blosc2 cannot read as an array", path.Join(a.name, a.path), strings.ReplaceAll(m.Kind, "_", " "))
	}
	if a.dtype, err = ndarray.ParseDType(name); err != nil {
		return fail(http.StatusUnprocessableEntity, "%s: elements of type %s", path.Join(a.name, a.path), name)
	}
	a.shape, a.chunks, a.block, a.attributes = m.Shape, m.Chunks, m.Blocks, len(m.Attributes)
	if a.chunks == nil || slices.Contains(a.chunks, 0) {
		a.chunks = grid.AutoChunk(a.shape, a.dtype.Size)
	}
	if a.block == nil {
		a.block = grid.AutoBlocks(a.chunks, a.dtype.Size)
	}
	return nil
}

// c2Compression returns the compression of the slices and chunks that are sent, and the same in the
// numbers of C-Blosc2.
func c2Compression(d ndarray.DType) (_ *ndarray.Compression, codec, level int, filters []int) {
	c := &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle"}}
	codec, level, filters = 1, 5, []int{0, 0, 0, 0, 0, 1}
	if d.Size > 255 {
		c.Filters, filters[5] = nil, 0
	}
	return c, codec, level, filters
}

// c2Info describes an array. The compression parameters are those of the slices and chunks that the
// other routes send, because they compress the elements again.
func (h *Handler) c2Info(w http.ResponseWriter, r *http.Request, p string) error {
	a, err := h.c2Find(r.Context(), p)
	if err != nil {
		return err
	}
	size, changed, _, err := h.files.stat(r.Context(), a.name)
	if err != nil {
		return err
	}
	values := map[string]json.RawMessage{}
	if a.attributes > 0 {
		if err := h.askJSON(r.Context(), a.name, &request{Route: routeAttr, Path: a.path, Format: "json"}, &values); err != nil {
			return err
		}
	}
	n, _ := grid.Product(a.shape)
	_, codec, level, filters := c2Compression(a.dtype)
	chunk, _ := grid.Product(a.chunks)
	block, _ := grid.Product(a.block)
	element := int64(a.dtype.Size)
	nbytes := n * element
	stored := nbytes
	ranges := resolveNone // no ranges
	if a.raw {
		stored, ranges = size, "bytes"
	}
	h.writeJSON(w, map[string]any{
		"shape": a.shape, "chunks": a.chunks, "blocks": a.block, "dtype": a.dtype.String(), "mtime": changed.UTC(), "accept_ranges": ranges,
		"schunk": map[string]any{
			"nbytes": nbytes, "cbytes": stored, "cratio": float64(nbytes) / float64(max(stored, 1)), "chunksize": chunk * element, "blocksize": block * element,
			"typesize": a.dtype.Size, "vlmeta": values, "urlpath": p, "contiguous": true,
			"cparams": map[string]any{"codec": codec, "clevel": level, "typesize": a.dtype.Size, "blocksize": block * element, "nthreads": 1, "filters": filters, "filters_meta": []int{0, 0, 0, 0, 0, 0}},
		},
	})
	return nil
}

// c2Fetch returns a slice as a frame, or without slice_ the stored frame, of which ranges can be
// requested.
func (h *Handler) c2Fetch(w http.ResponseWriter, r *http.Request, p string) error {
	v := r.URL.Query()
	for _, name := range []string{"filter", "field", "indices", "coords", "mask"} {
		if v.Get(name) != "" {
			return fail(http.StatusUnprocessableEntity, "parameter %s: only slices are possible", name)
		}
	}
	a, err := h.c2Find(r.Context(), p)
	if err != nil {
		return err
	}
	if v.Get("slice_") == "" && a.raw {
		return h.c2File(w, r, a.name)
	}
	return h.c2Slice(w, r, a, strings.ReplaceAll(v.Get("slice_"), " ", ""))
}

// c2Slice answers with a slice as a frame.
func (h *Handler) c2Slice(w http.ResponseWriter, r *http.Request, a *c2Array, selection string) error {
	part, err := parsePart(selection, a.shape)
	if err != nil {
		return err
	}
	return h.c2Frame(w, r, a, selection, ndarray.Spec{Shape: part.shape, DType: a.dtype})
}

// c2Frame answers with a selection in the form of frameOf. The shape of spec is that of the
// selection. The share of Options.Memory for the elements, their copy, the buffers of the library
// and the response is acquired at once, because two requests that wait for their second share would
// wait for each other.
func (h *Handler) c2Frame(w http.ResponseWriter, r *http.Request, a *c2Array, selection string, spec ndarray.Spec) error {
	ctx, limit := r.Context(), h.pageLimit()
	shape := slices.Clone(spec.Shape)
	for i := range spec.ChunkShape {
		shape[i] = max(shape[i], spec.ChunkShape[i]) // a chunk is padded
	}
	size := int64(max(a.dtype.Size, 1))
	n, ok := grid.Product(shape)
	if !ok || n > limit/size {
		return fail(http.StatusRequestEntityTooLarge, "%s: got a selection of shape %v with elements of %d bytes, want at most %d bytes", a.name, shape, size, limit)
	}
	held, err := h.memory.take(ctx, 4*n*size+frameExtra)
	if err != nil {
		return err
	}
	defer held.release()
	data, err := h.c2Read(ctx, a, selection)
	if err != nil {
		return err
	}
	b, err := frameOf(ctx, a.name, spec, data)
	return c2Bytes(w, b, err)
}

// frameExtra are the bytes of a frame beside its elements.
const frameExtra = 64 << 10

// b2nd answers a request to /data for a slice as a file of python-blosc2.
func (h *Handler) b2nd(w http.ResponseWriter, r *http.Request, name string, q *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	var m metaDoc
	if err := h.askJSON(ctx, name, &request{Route: routeMeta, Path: q.Path, Format: "json", Resolve: q.Resolve}, &m); err != nil {
		return err
	}
	a := &c2Array{name: name, path: q.Path, valid: true}
	if err := h.complete(ctx, a, m); err != nil {
		return err
	}
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", downloadName(name, a.path, "data.b2nd")))
	err := h.c2Slice(w, r.WithContext(ctx), a, q.Selection)
	if err != nil {
		w.Header().Del("Content-Disposition")
	}
	return err
}

// c2Read reads elements in native byte order. The caller has acquired the memory.
func (h *Handler) c2Read(ctx context.Context, a *c2Array, selection string) ([]byte, error) {
	q := &request{Route: routeData, Path: a.path, Format: "bin", Selection: selection, Stored: !a.valid, Limit: h.pageLimit()}
	sig, keep, err := h.files.look(ctx, a.name)
	if err != nil {
		return nil, err
	}
	tag := q.tag(a.name, sig)
	x, held, ok := h.cache.get(tag)
	if ok {
		defer held.release()
	} else {
		if x, err = h.files.answer(ctx, a.name, sig, keep, q); err != nil {
			return nil, err
		}
		if keep {
			h.keep(tag, x)
		}
	}
	b := slices.Clone(x.Body)
	a.dtype.ToNative(b)
	return b, nil
}

// keep puts a response into the cache if there is memory for it.
func (h *Handler) keep(tag string, x response) {
	if held := h.memory.try(int64(len(x.Body))); held != nil {
		h.cache.put(tag, x, held)
		held.release()
	}
}

// c2Chunk returns one compressed chunk, padded to the chunk shape.
func (h *Handler) c2Chunk(w http.ResponseWriter, r *http.Request, p string) error {
	a, err := h.c2Find(r.Context(), p)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(r.URL.Query().Get("nchunk"), 10, 64)
	if err != nil || n < 0 {
		return fail(http.StatusUnprocessableEntity, "nchunk %q: want the number of a chunk", r.URL.Query().Get("nchunk"))
	}
	parts, shape := make([]string, len(a.shape)), make([]int64, len(a.shape))
	left := n
	for i := len(a.shape) - 1; i >= 0; i-- {
		count := (a.shape[i]-1)/a.chunks[i] + 1
		at := left % max(count, 1)
		left /= max(count, 1)
		start, stop := at*a.chunks[i], min((at+1)*a.chunks[i], a.shape[i])
		parts[i], shape[i] = fmt.Sprintf("%d:%d", start, stop), stop-start
	}
	if left > 0 || slices.Contains(a.shape, 0) {
		return fail(http.StatusNotFound, "chunk %d of shape %v in chunks of %v", n, a.shape, a.chunks)
	}
	spec := ndarray.Spec{Shape: shape, ChunkShape: a.chunks, BlockShape: a.block, DType: a.dtype}
	return h.c2Frame(w, r, a, strings.Join(parts, ","), spec)
}

// c2Download returns a file of a format that the handler reads. Other files of the directory are
// refused, because they are not data to show.
func (h *Handler) c2Download(w http.ResponseWriter, r *http.Request, p string) error {
	name, err := fileName(p)
	if err != nil {
		return err
	}
	var m metaDoc
	if err := h.askJSON(r.Context(), name, &request{Route: routeMeta, Path: "/", Format: "json", Resolve: resolveValid}, &m); err != nil {
		return err
	}
	return h.c2File(w, r, name)
}

func (h *Handler) c2File(w http.ResponseWriter, r *http.Request, name string) error {
	sig, _, err := h.files.look(r.Context(), name)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", downloadName(path.Base(name), "", "x"+path.Ext(name))))
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Etag", fmt.Sprintf("%q", fmt.Sprintf("%x", sig[:16])))
	if remote := h.files.remote[name]; remote != nil {
		return remote.send(w, r, name)
	}
	f, err := h.files.root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return openError(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return fail(http.StatusUnprocessableEntity, "%s is a directory: only files can be downloaded", name)
	}
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}

func c2Bytes(w http.ResponseWriter, b []byte, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "private, no-cache")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b)
	return nil
}

// frameOf returns a b2nd frame with the elements, or only its first chunk as stored if spec has a
// chunk shape. Its errors contain name instead of the path of a temporary file.
func frameOf(ctx context.Context, name string, spec ndarray.Spec, data []byte) (b []byte, err error) {
	dir, err := os.MkdirTemp("", "hyperslab-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			p := problemOf(err)
			err = &problem{Status: p.Status, Message: strings.ReplaceAll(p.Message, dir, name), err: err}
		}
	}()
	file := filepath.Join(dir, "slice.b2nd")
	spec.Compression, _, _, _ = c2Compression(spec.DType)
	draft, err := hyperslab.Create(ctx, file, spec, nil)
	if err != nil {
		return nil, err
	}
	if len(data) > 0 {
		err = draft.Write(ctx, data, ndarray.Whole(draft.Shape()))
	}
	if err == nil {
		err = draft.Commit(ctx)
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return nil, err
	}
	if spec.ChunkShape == nil {
		return os.ReadFile(file)
	}
	a, err := hyperslab.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	reader, ok := ndarray.As[chunked.Reader](a.Backend())
	if !ok {
		return nil, fmt.Errorf("%w: stored chunks", errors.ErrUnsupported)
	}
	forms, err := reader.ChunkForms(ctx)
	if err != nil || len(forms) == 0 {
		return nil, cmp.Or(err, errors.ErrUnsupported)
	}
	return reader.ReadChunk(ctx, nil, forms[0], 0)
}
