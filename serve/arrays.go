// The source for b2nd, Caterva, bcolz, containers of python-blosc2 and directories of arrays. A
// file with one array is a group with that array, because viewers expect a group as the root.

package serve

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

type arraySource struct {
	name   string // of the file, for messages
	tree   *hyperslab.Tree
	only   string // name of the only array of the file, "" if the file is a group
	arrays arrays
	blocks blocks
}

// openArraySource opens a file, a directory or a URL. Unless it is trusted, each array is checked.
func openArraySource(ctx context.Context, location string, o *sourceOptions) (_ *arraySource, err error) {
	opts := &hyperslab.OpenOptions{}
	if !o.Trusted {
		opts.Untrusted = new(o.Limits)
		opts.Untrusted.InProcess, opts.Untrusted.FullIsolation = true, false // this process is the worker, if there is one
	}
	tree, err := hyperslab.OpenTree(ctx, location, opts)
	if err != nil {
		return nil, err
	}
	s := &arraySource{name: o.Name, tree: tree, blocks: blocks{limit: o.Blocks}}
	for e, err := range tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: func(hyperslab.Entry) bool { return true }}) {
		if err != nil {
			return nil, errors.Join(err, tree.Close())
		}
		if e.Path == "/" && e.Kind == hyperslab.Array {
			s.only = strings.TrimSuffix(path.Base(o.Name), path.Ext(o.Name))
		}
		break
	}
	return s, nil
}

func (s *arraySource) close() error {
	s.blocks.close()
	return errors.Join(s.arrays.close(), s.tree.Close())
}

// inTree returns the path in the tree of a path of a request.
func (s *arraySource) inTree(p string) string {
	if s.only != "" && p == "/"+s.only {
		return ""
	}
	return p
}

func (s *arraySource) answer(ctx context.Context, q *request) (response, error) {
	switch q.Route {
	case routeMeta:
		return s.meta(ctx, q)
	case routeAttr:
		return s.attr(ctx, q)
	case routeData, routeStats:
		arr, err := s.array(ctx, q.Path)
		if err != nil {
			return response{}, err
		}
		if q.Route == routeStats {
			return (&variable{array: arr, tree: s.tree, path: s.inTree(q.Path)}).stats(ctx, q)
		}
		return arrayData(ctx, arr, q, &s.blocks)
	case routePicture, routeTable:
		arr, err := s.array(ctx, q.Path)
		if err != nil {
			return response{}, err
		}
		v := &variable{arr, s.tree, s.inTree(q.Path), baseName(q.Path), s.only != ""}
		if q.Route == routePicture {
			return v.draw(ctx, q)
		}
		return v.table(ctx, q)
	case routePaths:
		return s.paths(ctx, q)
	}
	return response{}, fail(http.StatusNotFound, "no route %q", q.Route)
}

// array opens the array at a path.
func (s *arraySource) array(ctx context.Context, p string) (*ndarray.Array, error) {
	if s.only != "" && p != "/"+s.only {
		if p == "/" {
			return nil, fail(http.StatusUnprocessableEntity, "%s is not a dataset", p)
		}
		return nil, notAPath(p, s.name)
	}
	a, err := s.arrays.open(p, func() (*ndarray.Array, error) { return s.tree.Open(ctx, s.inTree(p)) })
	if err == nil || errors.Is(err, ndarray.ErrCorrupt) || !errors.Is(err, ndarray.ErrNotFound) && !errors.Is(err, ndarray.ErrParam) && !errors.Is(err, ndarray.ErrFormat) {
		return a, err
	}
	e, _, found := s.lookUp(ctx, p)
	if found == nil && e.Kind == hyperslab.Group {
		return nil, fail(http.StatusUnprocessableEntity, "%s is not a dataset", p)
	}
	return nil, notAPath(p, s.name)
}

// lookUp returns the entry at a path, and the members of a group.
func (s *arraySource) lookUp(ctx context.Context, p string) (hyperslab.Entry, []hyperslab.Entry, error) {
	var found hyperslab.Entry
	var list []hyperslab.Entry
	below := strings.TrimSuffix(p, "/") + "/"
	prune := func(e hyperslab.Entry) bool { // of all groups except those that lead to the path, and the one at the path
		return e.Path != p && !strings.HasPrefix(p, strings.TrimSuffix(e.Path, "/")+"/")
	}
	for e, err := range s.tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: prune}) {
		switch {
		case err != nil:
			return found, nil, err
		case e.Path == p:
			found = e
		case strings.HasPrefix(e.Path, below) && !strings.Contains(e.Path[len(below):], "/"):
			list = append(list, e)
		}
	}
	if found.Path == "" {
		return found, nil, notAPath(p, s.name)
	}
	return found, list, nil
}

func (s *arraySource) meta(ctx context.Context, q *request) (response, error) {
	e, err := s.entity(ctx, q.Path)
	if err != nil {
		return response{}, err
	}
	return jsonBody(e, q.Limit)
}

func (s *arraySource) entity(ctx context.Context, p string) (entity, error) {
	if s.only != "" {
		return s.onlyEntity(ctx, p)
	}
	found, list, err := s.lookUp(ctx, p)
	if err != nil {
		return entity{}, err
	}
	e, err := s.describe(ctx, &found)
	if err != nil || e.Kind != "group" {
		return e, err
	}
	children := []entity{}
	for i := range list {
		child, err := s.describe(ctx, &list[i])
		if err != nil {
			if ctx.Err() != nil {
				return e, err
			}
			child = entity{Name: baseName(list[i].Path), Kind: "other"}
		}
		children = append(children, child)
	}
	e.Children = &children
	return e, nil
}

// onlyEntity describes the group that contains the only array of a file, or the array.
func (s *arraySource) onlyEntity(ctx context.Context, p string) (entity, error) {
	if p != "/" && p != "/"+s.only {
		return entity{}, notAPath(p, s.name)
	}
	found, _, err := s.lookUp(ctx, "/")
	if err != nil {
		return entity{}, err
	}
	found.Path = "/" + s.only
	e, err := s.describe(ctx, &found)
	if err != nil || p != "/" {
		return e, err
	}
	return entity{Kind: "group", Attributes: &[]attrDoc{}, Children: &[]entity{e}}, nil
}

// describe describes one entry.
func (s *arraySource) describe(ctx context.Context, x *hyperslab.Entry) (entity, error) {
	e := entity{Name: baseName(x.Path)}
	switch x.Kind {
	case hyperslab.Group:
		e.Kind = "group"
	case hyperslab.Array:
		e.Kind = "dataset"
		if x.Err != nil {
			e.Kind = "other" // ndarray does not have its element type
			return e, nil
		}
		m := &x.Meta
		e.Type = ptr(typeOfArray(m.DType))
		e.Dataset = &datasetPart{Chunks: m.ChunkShape, Blocks: m.BlockShape}
		if !m.Null {
			e.Dataset.Shape = append([]int64{}, m.Shape...)
		}
		if m.Compression != nil {
			e.Dataset.Filters = []filterDoc{{filterBlosc2, "blosc2: " + m.Compression.String()}}
			if m.Format == string(hyperslab.Bcolz) {
				e.Dataset.Filters[0] = filterDoc{filterBlosc, "blosc: " + m.Compression.String()}
			}
		}
	default:
		e.Kind = "other"
		return e, nil
	}
	attrs, err := s.attrs(ctx, x.Path, x.Kind)
	if err != nil {
		return e, err
	}
	list := []attrDoc{}
	for _, a := range attrs.List {
		d := attrDoc{Name: a.Name, Type: typeOfArray(a.Value.DType)}
		if !a.Value.Null {
			d.Shape = append([]int64{}, a.Value.Shape...)
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b attrDoc) int { return strings.Compare(a.Name, b.Name) })
	e.Attributes = &list
	return e, nil
}

// The numbers of filters that HDF5 files with the same codecs have.
const (
	filterBlosc  = 32001
	filterBlosc2 = 32026
)

// attrs reads the attributes of an object.
func (s *arraySource) attrs(ctx context.Context, p string, kind hyperslab.EntryKind) (ndarray.Attrs, error) {
	if kind == hyperslab.Group {
		return s.tree.GroupAttrs(ctx, p)
	}
	a, err := s.array(ctx, p)
	if err != nil {
		return ndarray.Attrs{}, err
	}
	return a.Attrs(ctx)
}

func (s *arraySource) attr(ctx context.Context, q *request) (r response, err error) {
	kind := hyperslab.Array
	if s.only != "" && q.Path == "/" {
		return response{Type: "application/json", Body: []byte("{}")}, nil
	}
	if s.only == "" {
		found, _, err := s.lookUp(ctx, q.Path)
		if err != nil {
			return r, err
		}
		kind = found.Kind
	}
	attrs, err := s.attrs(ctx, q.Path, kind)
	if err != nil {
		return r, err
	}
	out := []byte{'{'}
	names := q.Keys
	if len(names) == 0 {
		for _, a := range attrs.List {
			names = append(names, a.Name)
		}
		slices.Sort(names)
	}
	for i, name := range names {
		v, ok := attrs.Get(name)
		if !ok {
			return r, fail(http.StatusNotFound, "%s has no attribute %q", q.Path, name)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonform.H5grove.AppendValue(append(jsonform.AppendString(out, jsonform.Name(name)), ':'), v)
		if int64(len(out)) > q.Limit {
			return r, tooLarge(q.Limit)
		}
	}
	return response{Type: "application/json", Body: append(out, '}')}, nil
}

func (s *arraySource) paths(ctx context.Context, q *request) (response, error) {
	list := &pathList{limit: q.Limit}
	if s.only != "" {
		if q.Path != "/" {
			return response{}, fail(http.StatusUnprocessableEntity, "%s is not a group", q.Path)
		}
		return jsonBody([]string{"/", "/" + s.only}, q.Limit)
	}
	below := strings.TrimSuffix(q.Path, "/") + "/"
	prune := func(e hyperslab.Entry) bool {
		return e.Path != q.Path && !strings.HasPrefix(q.Path, strings.TrimSuffix(e.Path, "/")+"/") && !strings.HasPrefix(e.Path, below)
	}
	for e, err := range s.tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: prune}) {
		switch {
		case err != nil:
			return response{}, err
		case e.Path == q.Path && e.Kind != hyperslab.Group:
			return response{}, fail(http.StatusUnprocessableEntity, "%s is not a group", q.Path)
		case e.Path == q.Path, strings.HasPrefix(e.Path, below):
			if err := list.add(e.Path); err != nil {
				return response{}, err
			}
		}
	}
	if len(list.paths) == 0 {
		return response{}, notAPath(q.Path, s.name)
	}
	return jsonBody(list.paths, q.Limit)
}

// openSource opens a file of any format. The file must stay open.
func openSource(ctx context.Context, file *os.File, o *sourceOptions) (source, error) {
	format, err := hyperslab.Sniff(worker.FilePath(file))
	if err == nil && format == hyperslab.HDF5 {
		info, err := file.Stat()
		if err != nil {
			return nil, err
		}
		return opened(openHDF5Source(file, info.Size(), o))
	}
	if err != nil {
		return nil, &problem{Status: http.StatusUnprocessableEntity, Message: o.Name + ": unknown format", err: err}
	}
	return opened(openArraySource(ctx, worker.FilePath(file), o))
}

// opened returns a source as an interface, which is nil after an error.
func opened[S source](s S, err error) (source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// renamed replaces the path of a descriptor in a message by the name of the file.
func renamed(message, name string, file *os.File) string {
	return worker.Replacer(map[string]string{
		worker.FilePath(file): name, "/dev/fd/" + strconv.Itoa(int(file.Fd())): name,
	}).Replace(message)
}
