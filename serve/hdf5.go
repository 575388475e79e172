// The source for HDF5 files. It reads the file through one descriptor, so that links, virtual
// datasets and external storage cannot lead to another file.

package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5elem"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// valuesAtOnce is the approximate number of bytes of elements that are read at a time if ndarray
// does not have their type.
const valuesAtOnce = 1 << 20

// maxAttr is the maximum number of bytes of an attribute in the file.
const maxAttr = 64 << 20

type hdf5Source struct {
	name   string // of the file, for messages
	file   io.ReaderAt
	size   int64
	f      *h5.File
	reader *h5.ReaderOptions // of a remote file
	check  bool              // the file is untrusted
	arrays arrays
	blocks blocks
}

// openHDF5Source opens an open file or remote object, of which the caller keeps ownership. It first
// checks the metadata, unless the file is trusted.
func openHDF5Source(file io.ReaderAt, size int64, o *sourceOptions) (_ *hdf5Source, err error) {
	s := &hdf5Source{name: o.Name, file: file, size: size, check: !o.Trusted, blocks: blocks{limit: o.Blocks}}
	if _, ok := file.(urlfile.Object); ok {
		s.reader = &h5.ReaderOptions{BlockSize: 512, Blocks: 256, Concurrent: true}
	}
	if !o.Trusted {
		err := h5check.Check(file, s.size, h5check.Options{
			Metadata: o.Limits.MaxMetadata, Array: o.Limits.MaxArray, Chunk: o.Limits.MaxChunk,
			ExternalLinks: true, VirtualSources: true, ExternalFiles: true, // the file is read through its descriptor
			Direct: o.Direct,
		})
		if err != nil {
			return nil, err
		}
	}
	s.f, err = h5.OpenReaderAt(file, s.size, s.reader)
	return s, err
}

func (s *hdf5Source) close() error {
	s.blocks.close()
	return errors.Join(s.arrays.close(), s.f.Close())
}

func (s *hdf5Source) answer(ctx context.Context, q *request) (response, error) {
	switch q.Route {
	case routeMeta:
		return s.meta(ctx, q)
	case routeAttr:
		return s.attr(q)
	case routeData:
		return s.data(ctx, q)
	case routePaths:
		return s.paths(ctx, q)
	case routeStats, routePicture, routeTable:
		return s.ofVariable(ctx, q)
	}
	return response{}, fail(http.StatusNotFound, "no route %q", q.Route)
}

// find returns the object at a path, or the link to it if it is not followed.
func (s *hdf5Source) find(p, resolve string) (h5.Object, *h5.Link, error) {
	root := s.f.Root()
	if p == "/" {
		g, err := root.OpenGroup("/")
		return g, nil, err
	}
	link, err := root.Link(p)
	if err != nil {
		if errors.Is(err, h5.ErrNotFound) || errors.Is(err, h5.ErrKind) {
			return nil, nil, notAPath(p, s.name)
		}
		if _, outside := errors.AsType[*h5.OutsideError](err); outside {
			return nil, nil, notAPath(p, s.name)
		}
		return nil, nil, err
	}
	if link.Kind == h5.UserLink || link.Kind != h5.HardLink && resolve == resolveNone {
		return nil, &link, nil
	}
	o, err := root.OpenObject(p)
	if err == nil {
		return o, nil, nil
	}
	if link.Kind == h5.HardLink {
		return nil, nil, err
	}
	if resolve == resolveAll {
		return nil, nil, fail(http.StatusNotFound, "Cannot resolve %s link to %s at %s of %s", link.Kind, link.Target, p, s.name)
	}
	return nil, &link, nil
}

// object returns the object at a path, following links.
func (s *hdf5Source) object(p string) (h5.Object, error) {
	o, link, err := s.find(p, resolveAll)
	if err == nil && link != nil {
		err = fail(http.StatusNotFound, "Cannot resolve %s link at %s of %s", link.Kind, p, s.name)
	}
	return o, err
}

// dataset returns the dataset at a path.
func (s *hdf5Source) dataset(p string) (*h5.Dataset, error) {
	o, err := s.object(p)
	if err != nil {
		return nil, err
	}
	d, ok := o.(*h5.Dataset)
	if !ok {
		return nil, errors.Join(fail(http.StatusUnprocessableEntity, "%s is not a dataset", p), o.Close())
	}
	return d, nil
}

func (s *hdf5Source) meta(ctx context.Context, q *request) (response, error) {
	e, err := s.entity(ctx, q.Path, q.Resolve, 1)
	if err != nil {
		return response{}, err
	}
	return jsonBody(e, q.Limit)
}

// entity describes the object at a path. depth is the number of levels of groups whose members are
// listed.
func (s *hdf5Source) entity(ctx context.Context, p, resolve string, depth int) (e entity, err error) {
	if err := ctx.Err(); err != nil {
		return e, err
	}
	o, link, err := s.find(p, resolve)
	if err != nil {
		return e, err
	}
	e.Name = baseName(p)
	if link != nil {
		switch link.Kind {
		case h5.SoftLink:
			e.Kind, e.TargetPath = "soft_link", &link.Target
		case h5.ExternalLink:
			e.Kind, e.TargetPath, e.TargetFile = "external_link", &link.Target, &link.File
		default:
			e.Kind = "other"
		}
		return e, nil
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if e.Attributes, err = attributesOf(o); err != nil {
		return e, err
	}
	switch o := o.(type) {
	case *h5.Group:
		e.Kind = "group"
		if depth > 0 {
			e.Children, err = s.children(ctx, o, p, resolve, depth-1)
		}
	case *h5.Dataset:
		e.Kind = "dataset"
		err = describeDataset(&e, o)
	case *h5.CommittedType:
		e.Kind = "datatype"
		t, err := o.Datatype()
		if err != nil {
			return e, err
		}
		e.Type = ptr(typeOf(&t))
	}
	return e, err
}

// children describes the members of a group, in the order of h5py: by creation if the group stores
// that order, otherwise by name.
func (s *hdf5Source) children(ctx context.Context, g *h5.Group, p, resolve string, depth int) (*[]entity, error) {
	list := []entity{}
	links, err := ordered(g.LinksIn)
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		child, err := s.entity(ctx, path.Join(p, link.Name), resolve, depth)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			child = entity{Name: link.Name, Kind: "other"} // one unreadable member does not hide the others
		}
		list = append(list, child)
	}
	return &list, nil
}

// ordered lists links or attributes by creation if the object stores that order, otherwise by name.
func ordered[T any](in func(h5.ListOrder) iter.Seq2[T, error]) (list []T, err error) {
	for _, order := range []h5.ListOrder{h5.ByCreation, h5.ByName} {
		list, err = collect(in(order))
		if !errors.Is(err, h5.ErrNoOrder) {
			break
		}
	}
	return list, err
}

// collect returns the values of a sequence, or its first error.
func collect[T any](in iter.Seq2[T, error]) (list []T, err error) {
	for x, err := range in {
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// attributesOf describes the attributes of an object by name, as h5grove does.
func attributesOf(o h5.Object) (*[]attrDoc, error) {
	list := []attrDoc{}
	for a, err := range o.Attributes() {
		if err != nil {
			return nil, err
		}
		list = append(list, attrDoc{Name: a.Name, Shape: shapeOf(a.Space), Type: typeOf(&a.Datatype)})
	}
	slices.SortFunc(list, func(a, b attrDoc) int { return strings.Compare(a.Name, b.Name) })
	return &list, nil
}

// shapeOf returns a shape: empty for a scalar, nil for a null dataspace.
func shapeOf(s h5.Dataspace) []int64 {
	if s.Kind == h5.Null {
		return nil
	}
	return append([]int64{}, s.Dims...)
}

func describeDataset(e *entity, d *h5.Dataset) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	e.Type = ptr(typeOf(&info.Datatype))
	e.Dataset = &datasetPart{Shape: shapeOf(info.Space), Chunks: info.ChunkShape}
	for _, f := range info.Filters {
		e.Dataset.Filters = append(e.Dataset.Filters, filterDoc{f.ID, filterName(f)})
	}
	return nil
}

// filterName returns the name in the file, or the usual name of a filter that has none there.
func filterName(f h5.Filter) string {
	if f.Name != "" {
		return f.Name
	}
	if name, ok := map[int]string{h5.FilterDeflate: "deflate", h5.FilterShuffle: "shuffle", h5.FilterFletcher32: "fletcher32"}[f.ID]; ok {
		return name
	}
	return fmt.Sprintf("filter %d", f.ID)
}

func (s *hdf5Source) attr(q *request) (r response, err error) {
	o, err := s.object(q.Path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	names := q.Keys
	if len(names) == 0 {
		attrs, err := ordered(o.AttributesIn)
		if err != nil {
			return r, err
		}
		for _, a := range attrs {
			names = append(names, a.Name)
		}
	}
	out := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonform.AppendString(out, jsonform.Name(name)), ':')
		if out, err = appendAttr(out, o, name); err != nil {
			return r, err
		}
		if int64(len(out)) > q.Limit {
			return r, tooLarge(q.Limit)
		}
	}
	return response{Type: "application/json", Body: append(out, '}')}, nil
}

// appendAttr appends the value of an attribute.
func appendAttr(out []byte, o h5.Object, name string) ([]byte, error) {
	info, err := o.AttributeInfo(name)
	if err != nil {
		if errors.Is(err, h5.ErrNotFound) {
			return nil, fail(http.StatusNotFound, "%s has no attribute %q", o.Path(), name)
		}
		return nil, err
	}
	if info.Space.Kind == h5.Null {
		return append(out, "null"...), nil
	}
	if info.Bytes > maxAttr {
		return nil, tooLarge(maxAttr)
	}
	a, err := o.ReadAttribute(name)
	if err != nil {
		return nil, err
	}
	v, err := h5value.AttributeValues(&a)
	if err != nil {
		return nil, err
	}
	return jsonform.AppendNested(out, info.Space.Dims, func(out []byte, i int) []byte { return appendView(out, h5elem.ViewOf(&v, i)) }), nil
}

// array returns the dataset at a path as an array. It stays open until others displace it.
func (s *hdf5Source) array(p string) (*ndarray.Array, error) {
	return s.arrays.open(p, func() (*ndarray.Array, error) { return s.openArray(p) })
}

// openArray opens the dataset at a path.
func (s *hdf5Source) openArray(p string) (*ndarray.Array, error) {
	f, err := h5.OpenReaderAt(s.file, s.size, s.reader)
	if err != nil {
		return nil, err
	}
	b, err := hdf5.OpenIn(f.Root(), p, s.name+":"+p, &hdf5.OpenOptions{Untrusted: s.check || s.reader != nil}) // of a remote file, libhdf5 decodes no chunk
	if err != nil {
		return nil, err
	}
	if other, ok := ndarray.As[ndarray.ExternalElements](b); ok {
		if files := other.Elsewhere(); len(files) > 0 { // libhdf5 would return fill values
			return nil, errors.Join(elsewhere(p, files[0]), b.Close())
		}
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return a, nil
}

func elsewhere(p, file string) error {
	return fail(http.StatusForbidden, "Permission denied: the elements of %s are in another file, %q, and are not served", p, file)
}

func (s *hdf5Source) data(ctx context.Context, q *request) (r response, err error) {
	d, err := s.dataset(q.Path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil {
		return r, err
	}
	if info.Space.Kind == h5.Null {
		return nullData(q)
	}
	arr, err := s.array(q.Path)
	if err == nil && sameInMemory(arr.DType()) {
		return arrayData(ctx, arr, q, &s.blocks)
	}
	if err != nil && !errors.Is(err, ndarray.ErrType) {
		return r, err
	}
	if len(info.External) > 0 {
		return r, elsewhere(q.Path, info.External[0].Name)
	}
	for _, m := range info.Mappings {
		if m.File != "." {
			return r, elsewhere(q.Path, m.File)
		}
	}
	return valuesData(ctx, d, &info, q)
}

// sameInMemory reports whether ndarray has elements of d in the form of HDF5: strings, and types of
// a fixed size without numbers of unusual form, which have a tag.
func sameInMemory(d ndarray.DType) bool {
	same := d.Size > 0 || d.Kind == ndarray.String
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		same = same && (p.Tag == "" || p.Kind == ndarray.Void)
		return p
	})
	return same
}

// valuesData answers a request for elements of a type that ndarray does not have in the same form.
func valuesData(ctx context.Context, d *h5.Dataset, info *h5.DatasetInfo, q *request) (r response, err error) {
	p, err := parsePart(q.Selection, info.Space.Dims)
	if err != nil {
		return r, err
	}
	t := &info.Datatype
	if err := p.fits(t.InMemory(), q.Limit); err != nil {
		return r, err
	}
	shape, base := slices.Clone(p.shape), t
	for base.Class == h5.Array {
		shape = append(shape, base.Dims...)
		base = base.Base
	}
	if q.Flatten && len(shape) > 0 {
		n, _ := grid.Product(shape)
		shape = []int64{n}
	}
	// A JSON document of nested lists needs the shape; elements of an array type are lists already.
	switch q.Format {
	case "json":
		if q.Safe {
			return r, notNumeric(q)
		}
	case "bin":
		if q.Safe && !isNumeric(t) || !t.Plain() {
			return r, notNumeric(q)
		}
	default:
		return r, notNumeric(q)
	}
	var flat []byte    // of bin
	var items [][]byte // of json, encoded
	used := int64(0)   // bytes of items
	each := func(v *h5.Values, i int) error {
		if q.Format == "bin" {
			b := h5elem.ViewOf(v, i).Bytes()
			flat = append(flat, b...)
			return nil
		}
		for _, e := range innermost(h5elem.ViewOf(v, i)) {
			b := appendView(nil, e)
			if used += int64(len(b)); used > q.Limit {
				return tooLarge(q.Limit)
			}
			items = append(items, b)
		}
		return nil
	}
	if err := eachValue(ctx, d, t, &p, each); err != nil {
		return r, err
	}
	if q.Format == "bin" {
		if q.Safe {
			toLittle(flat, base)
		}
		return response{Type: "application/octet-stream", Body: flat}, nil
	}
	body := jsonform.AppendNested(nil, shape, func(out []byte, i int) []byte { return append(out, items[i]...) })
	return response{Type: "application/json", Body: body}, nil
}

// innermost returns the elements of nested array types, or e itself.
func innermost(e h5elem.View) []h5elem.View {
	if e.Class() != h5.Array {
		return []h5elem.View{e}
	}
	var list []h5elem.View
	for i := range e.Len() {
		list = append(list, innermost(e.At(i))...)
	}
	return list
}

// toLittle converts bit fields and integers to little-endian order.
func toLittle(b []byte, t *h5.Datatype) {
	if t.Order != h5.BigEndian {
		return
	}
	for ; len(b) >= t.Size; b = b[t.Size:] {
		slices.Reverse(b[:t.Size])
	}
}

// eachValue calls f for each selected element, in row-major order. It reads about valuesAtOnce
// bytes at a time: a range along the first dimension.
func eachValue(ctx context.Context, d *h5.Dataset, t *h5.Datatype, p *part, f func(v *h5.Values, i int) error) error {
	if p.elems() == 0 {
		return nil
	}
	for i, step := range p.step {
		if step < 0 && p.count[i] > 1 {
			return fail(http.StatusUnprocessableEntity, "selection with step %d: elements of this type are read with positive steps", step)
		}
	}
	rows, row := int64(1), p.elems()*int64(max(t.InMemory(), 1))
	if len(p.count) > 0 {
		rows = p.count[0]
		row /= rows
	}
	once := max(valuesAtOnce/max(row, 1), 1)
	for done := int64(0); done < rows; done += once {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := h5.Region{Start: slices.Clone(p.start), Count: slices.Clone(p.count), Stride: make([]int64, len(p.step))}
		for i, step := range p.step {
			r.Stride[i] = max(step, 1)
		}
		if len(r.Start) > 0 {
			r.Start[0] += done * r.Stride[0]
			r.Count[0] = min(once, rows-done)
		}
		v, err := d.ReadValues(*t, r, -1)
		if err != nil {
			return err
		}
		for i := range v.N {
			if err := f(&v, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofVariable answers a request that needs the values and the coordinates of a dataset.
func (s *hdf5Source) ofVariable(ctx context.Context, q *request) (response, error) {
	d, err := s.dataset(q.Path)
	if err != nil {
		return response{}, err
	}
	if err := d.Close(); err != nil {
		return response{}, err
	}
	arr, err := s.array(q.Path)
	if err != nil {
		return response{}, err
	}
	v := &variable{arr, hdf5Tree{s}, q.Path, baseName(q.Path), false}
	switch q.Route {
	case routeStats:
		return v.stats(ctx, q)
	case routePicture:
		return v.draw(ctx, q)
	}
	return v.table(ctx, q)
}

// hdf5Tree is the file as a tree, for the coordinates of an array.
type hdf5Tree struct{ *hdf5Source }

// Open implements cf.Tree.
func (t hdf5Tree) Open(_ context.Context, p string) (*ndarray.Array, error) { return t.openArray(p) }

// GroupAttrs implements cf.Tree.
func (t hdf5Tree) GroupAttrs(ctx context.Context, p string) (attrs ndarray.Attrs, err error) {
	g, err := t.f.Root().OpenGroup(p)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	return hdf5.ReadAttrs(ctx, g)
}

func (s *hdf5Source) paths(ctx context.Context, q *request) (r response, err error) {
	o, err := s.object(q.Path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	g, ok := o.(*h5.Group)
	if !ok {
		return r, fail(http.StatusUnprocessableEntity, "%s is not a group", q.Path)
	}
	list := &pathList{limit: q.Limit}
	if err := list.add(q.Path); err != nil {
		return r, err
	}
	for l, err := range g.VisitLinks() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return r, err
		}
		if err := list.add(path.Join(q.Path, l.Path)); err != nil {
			return r, err
		}
	}
	return jsonBody(list.paths, q.Limit)
}

// pathList is a bounded list of paths.
type pathList struct {
	paths       []string
	used, limit int64
}

func (l *pathList) add(p string) error {
	if l.used += int64(len(p)) + 3; l.used > l.limit {
		return tooLarge(l.limit)
	}
	l.paths = append(l.paths, p)
	return nil
}

// arrays are open arrays, the last used one at the end.
type arrays struct{ list []openArray }

type openArray struct {
	path  string
	array *ndarray.Array
}

// arraysOpen is the maximum number of arrays of a file that stay open.
const arraysOpen = 4

func (l *arrays) open(p string, open func() (*ndarray.Array, error)) (*ndarray.Array, error) {
	if i := slices.IndexFunc(l.list, func(x openArray) bool { return x.path == p }); i >= 0 {
		x := l.list[i]
		l.list = append(slices.Delete(l.list, i, i+1), x)
		return x.array, nil
	}
	a, err := open()
	if err != nil {
		return nil, err
	}
	l.list = append(l.list, openArray{p, a})
	if len(l.list) > arraysOpen {
		err = l.list[0].array.Close()
		l.list = slices.Delete(l.list, 0, 1)
	}
	return a, err
}

func (l *arrays) close() error {
	var err error
	for _, x := range l.list {
		err = errors.Join(err, x.array.Close())
	}
	l.list = nil
	return err
}

// sourceOptions are the options of a source. A worker receives them as JSON.
type sourceOptions struct {
	Name    string // of the file, for messages
	Trusted bool   // do not check the file
	Direct  bool   // outside a worker
	Blocks  int64  // bytes of the cache of decoded chunks
	Memory  int64  // of a worker, as ndarray.SetReadMemory
	Limits  hyperslab.Untrusted
}
