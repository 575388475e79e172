// The modes "entries" and "trusted": the public functions that read files are called for each case
// in the program's process. A panic of any goroutine ends the child and is counted as a crash. An
// error must match a sentinel, so that a caller can distinguish it.

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/cf"
	"github.com/hyperslab/hyperslab/ndarray/mem"
	plans "github.com/hyperslab/hyperslab/plan"
)

// Limits of the calls for one file.
const (
	entryBytes   = 16 << 20 // of an array, a chunk and a structure
	entryObjects = 3        // arrays of a file on which all methods are called
	entryWalk    = 200      // objects, chunks and rows of an iteration
)

// session calls the public functions for one file.
type session struct {
	ctx     context.Context
	place   string // the file or directory
	scratch string // a directory for outputs
	content []byte // of a file; nil: a directory
	objects []string
	trust   *hyperslab.Untrusted // nil: the file is trusted
	good    int                  // calls without an error
	outputs int
	bad     error // the first error without a sentinel
}

// done records the result of a call.
func (s *session) done(name string, err error) {
	switch {
	case err == nil:
		s.good++
	case s.bad == nil && !typed(err):
		s.bad = fmt.Errorf("%s returned an error without a sentinel: %w", name, err)
	}
}

// output returns the path of a new output.
func (s *session) output(ext string) string {
	s.outputs++
	return filepath.Join(s.scratch, fmt.Sprintf("out%d%s", s.outputs, ext))
}

// typed reports whether an error matches a sentinel of the module or of the standard library, or is
// one of a C library.
func typed(err error) bool {
	for _, s := range errs.All() {
		if errors.Is(err, s) {
			return true
		}
	}
	for _, s := range []error{
		errors.ErrUnsupported, context.Canceled, context.DeadlineExceeded, fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, s) {
			return true
		}
	}
	return errors.As(err, new(syscall.Errno)) || errors.As(err, new(*h5.Error)) || errors.As(err, new(*cblosc.Error))
}

// everything calls the public functions for the files at place.
func everything(ctx context.Context, place string, files map[string][]byte, trusted bool) (outcome, string) {
	s := &session{ctx: ctx, place: place, scratch: place + ".entries", content: files[""], objects: objects(files)}
	if s.objects = s.objects[:min(len(s.objects), entryObjects)]; !trusted {
		s.trust = &hyperslab.Untrusted{InProcess: true, MaxArray: entryBytes, MaxChunk: entryBytes, MaxMetadata: entryBytes, MaxCopy: 4 * entryBytes}
	}
	if err := os.MkdirAll(s.scratch, 0o700); err != nil {
		return wrong, err.Error()
	}
	defer os.RemoveAll(s.scratch)
	steps := []func(){s.trees, s.arrays, s.reports, s.bindings}
	if trusted {
		steps = append(steps, s.writers, s.library)
	}
	for _, step := range steps {
		if ctx.Err() == nil {
			step()
		}
	}
	switch {
	case s.bad != nil:
		return wrong, s.bad.Error()
	case s.good > 0:
		return read, fmt.Sprintf("%d calls without an error", s.good)
	}
	return refused, "every call"
}

func (s *session) options() *hyperslab.OpenOptions { return &hyperslab.OpenOptions{Untrusted: s.trust} }

func location(place, object string) string {
	if object == "" {
		return place
	}
	return place + ":" + object
}

// trees calls the functions on files with several arrays.
func (s *session) trees() {
	_, err := hyperslab.Sniff(s.place)
	s.done("Sniff", err)
	for n, err := range limited(hyperslab.Walk(s.ctx, s.place, &hyperslab.WalkOptions{Untrusted: s.trust})) {
		s.done("Walk", errors.Join(err, n.Err))
	}
	for _, open := range []func() (*hyperslab.Tree, error){
		func() (*hyperslab.Tree, error) { return hyperslab.OpenTree(s.ctx, s.place, s.options()) },
		func() (*hyperslab.Tree, error) {
			return hyperslab.OpenTreeFS(s.ctx, os.DirFS(filepath.Dir(s.place)), filepath.Base(s.place), s.options())
		},
		func() (*hyperslab.Tree, error) {
			return hyperslab.OpenTreeReaderAt(s.ctx, bytes.NewReader(s.content), int64(len(s.content)), "x", s.options())
		},
	} {
		t, err := open()
		s.done("OpenTree", err)
		if err == nil {
			s.tree(t)
			s.done("Tree.Close", t.Close())
		}
	}
}

// tree calls the methods of a tree.
func (s *session) tree(t *hyperslab.Tree) {
	n := 0
	for e, err := range limited(t.Walk(s.ctx, nil)) {
		s.done("Tree.Walk", errors.Join(err, e.Err))
		switch {
		case err != nil:
		case e.Kind == hyperslab.Group:
			attrs, err := t.GroupAttrs(s.ctx, e.Path)
			s.done("Tree.GroupAttrs", err)
			_, err = hyperslab.MarshalAttrs(attrs)
			s.done("MarshalAttrs", err)
		case e.Kind == hyperslab.Array && n < entryObjects:
			n++
			_, err := t.Metadata(s.ctx, e.Path)
			s.done("Tree.Metadata", err)
			v, err := cf.Open(s.ctx, t, e.Path)
			s.done("cf.Open", err)
			if err == nil {
				s.variable(v)
				s.done("Variable.Close", v.Close())
			}
			a, err := t.Open(s.ctx, e.Path)
			s.done("Tree.Open", err)
			if err == nil {
				v, err := cf.New(s.ctx, a, t, e.Path)
				s.done("cf.New", err)
				if err == nil {
					s.variable(v)
				}
				s.done("Array.Close", a.Close())
			}
		}
	}
	_, err := hyperslab.Compare(s.ctx, t, t, nil)
	s.done("Compare", err)
	for _, f := range []hyperslab.Format{hyperslab.HDF5, hyperslab.B2D} {
		_, err := hyperslab.CopyTree(s.ctx, s.output("."+string(f)), t, &hyperslab.TreeOptions{Format: f, SkipUnreadable: true, Accept: func(hyperslab.Problem) bool { return true }})
		s.done("CopyTree", err)
	}
}

// variable calls the methods of a variable.
func (s *session) variable(v *cf.Variable) {
	_ = fmt.Sprint(v.Describe(nil), v.Warnings(), v.Undated(), v.IsTime(), v.Meanings(make([]byte, v.Array.DType().Size)))
	coords, err := v.Coords(s.ctx)
	s.done("Variable.Coords", err)
	for _, c := range coords {
		_, err := c.Direction(s.ctx)
		s.done("Variable.Direction", err)
	}
	b, err := v.Bounds(s.ctx)
	s.done("Variable.Bounds", err)
	if b != nil {
		s.done("Variable.Close", b.Close())
	}
	r := window(v.Array, 1<<16)
	_, err = v.Times(s.ctx, r)
	s.done("Variable.Times", err)
	_, err = v.Dates(s.ctx, r)
	s.done("Variable.Dates", err)
	format, err := v.Formatter(s.ctx, r)
	s.done("Variable.Formatter", err)
	if err == nil && r.NumElems() > 0 {
		_ = format(0)
	}
	for _, o := range []*cf.ValueOptions{nil, {Dates: true}, {Float: true, Wide: true}} {
		values, err := v.Values(o)
		s.done("Variable.Values", err)
		if err == nil {
			s.array(values)
		}
	}
}

// arrays opens arrays in each way and calls all methods of them.
func (s *session) arrays() {
	for _, object := range s.objects {
		a, err := hyperslab.Open(s.ctx, location(s.place, object), s.options())
		s.close("Open", a, err)
		for _, err := range limited(hyperslab.Chunks(s.ctx, location(s.place, object), s.options())) {
			s.done("Chunks", err)
		}
		if s.content != nil {
			a, err := hyperslab.OpenReaderAt(s.ctx, bytes.NewReader(s.content), int64(len(s.content)), "x", object, s.options())
			s.close("OpenReaderAt", a, err)
		}
	}
}

// close calls the methods of an array and closes it.
func (s *session) close(name string, a *ndarray.Array, err error) {
	s.done(name, err)
	if err != nil {
		return
	}
	if v := cf.Of(a); v != nil {
		_ = fmt.Sprint(v.Describe(nil), v.Warnings(), v.IsTime())
	}
	s.array(a)
	s.encode(a)
	s.done(name+": Close", a.Close())
}

// encode writes an array in each format for the web.
func (s *session) encode(a *ndarray.Array) {
	if a.NBytes() > entryBytes/16 {
		return
	}
	for _, f := range []hyperslab.Format{hyperslab.CSV, hyperslab.JSON, hyperslab.NDJSON, hyperslab.NPY} {
		s.done("Encode", hyperslab.Encode(s.ctx, io.Discard, a, f, &hyperslab.EncodeOptions{Index: true, Safe: true}))
		e, err := hyperslab.NewEncoder(s.ctx, a, f, nil)
		s.done("NewEncoder", err)
		if err == nil {
			_, err := io.CopyN(io.Discard, e, 1<<20)
			if !errors.Is(err, io.EOF) {
				s.done("Encoder.Read", err)
			}
		}
	}
}

// window is the beginning of an array, of at most the given number of bytes.
func window(a *ndarray.Array, most int64) ndarray.Region {
	r := ndarray.Whole(a.Shape())
	capacity := most / int64(max(a.DType().Size, 16))
	for i := range r.Shape {
		inner := int64(1)
		for _, n := range r.Shape[i+1:] {
			if inner = min(inner*max(n, 1), capacity+1); inner > capacity {
				break
			}
		}
		r.Shape[i] = min(r.Shape[i], max(capacity/inner, 1))
		capacity /= max(r.Shape[i], 1)
	}
	return r
}

// array calls the functions of package ndarray that read.
func (s *session) array(a *ndarray.Array) {
	_ = fmt.Sprint(a, a.Meta(), a.NumElems(), a.NBytes(), a.LossyChanges(), a.Backend() != nil)
	attrs, err := a.Attrs(s.ctx)
	s.done("Array.Attrs", err)
	_, err = a.Attr(s.ctx, "units")
	s.done("Array.Attr", err)
	for _, x := range attrs.List {
		_, err := ndarray.ValuesOf[float64](x.Value)
		s.done("ValuesOf", err)
	}
	_ = ndarray.CompareAttrs(attrs, attrs, nil)
	_, err = a.Storage(s.ctx)
	s.done("Array.Storage", err)
	for _, err := range limited(a.StoredChunks(s.ctx)) {
		s.done("Array.StoredChunks", err)
	}
	_, err = a.Uniform(s.ctx)
	s.done("Array.Uniform", err)
	if a.Meta().Null || a.NBytes() > entryBytes {
		return
	}
	n := 0
	for range a.ChunkRegions() {
		if n++; n == entryWalk {
			break
		}
	}
	a.SetWorkers(2)
	s.elements(a)
	s.reductions(a)
}

// elements reads a part of an array in each way.
func (s *session) elements(a *ndarray.Array) {
	r := window(a, 1<<18)
	n := r.NumElems()
	dst := make([]byte, n*int64(a.DType().Size))
	s.done("Array.Read", a.Read(s.ctx, dst, r))
	s.done("Array.ReadRegion", a.ReadRegion(s.ctx, dst, r, 2))
	s.done("Array.ReadStrings", a.ReadStrings(s.ctx, make([]string, n), r))
	s.done("Array.ReadNulls", a.ReadNulls(s.ctx, make([]bool, n), r))
	if a.DType().Size > 0 && n > 0 {
		_ = ndarray.FormatElement(a.DType(), dst[:a.DType().Size])
		_, err := ndarray.DropNulls(s.ctx, a, r, dst)
		s.done("DropNulls", err)
		s.done("Convert", ndarray.Convert(make([]byte, 8*n), ndarray.DTypeOf[float64](), dst, a.DType(), true))
	}
	every := make([]ndarray.Index, len(r.Shape))
	for i := range every {
		every[i] = ndarray.Span(0, r.Shape[i]).By(3)
	}
	part := ndarray.Select(every...)
	s.done("Array.Take", a.Take(s.ctx, dst, part))
	view, err := ndarray.View(a, part)
	s.done("View", err)
	if err == nil {
		w := window(view, 1<<16)
		s.done("View.Read", view.Read(s.ctx, make([]byte, w.NumElems()*int64(view.DType().Size)), w))
	}
	_, err = ndarray.Take[int32](s.ctx, a, part)
	s.done("Take", err)
	_, err = ndarray.TakeAs[float64](s.ctx, a, part)
	s.done("TakeAs", err)
	s.done("Read", ndarray.Read(s.ctx, a, make([]int32, n), r))
	s.done("ReadAs", ndarray.ReadAs(s.ctx, a, make([]float64, n), r))
	if a.NBytes() > 1<<20 {
		return
	}
	_, err = ndarray.ReadAll[float64](s.ctx, a)
	s.done("ReadAll", err)
	for _, err := range limited(ndarray.Rows[float64](s.ctx, a, 2)) {
		s.done("Rows", err)
	}
	for _, err := range limited(ndarray.Records[struct{ A int32 }](s.ctx, a)) {
		s.done("Records", err)
	}
}

// reductions calls the functions that read a whole array.
func (s *session) reductions(a *ndarray.Array) {
	o := &ndarray.WorkOptions{Workers: 2, Memory: 1 << 20}
	s.done("Each", ndarray.Each(s.ctx, a, o, func(context.Context, ndarray.Region, []byte) error { return nil }))
	_, err := ndarray.Summarize(s.ctx, a, o)
	s.done("Summarize", err)
	_, err = ndarray.CountBins(s.ctx, a, -1, 1, 10, o)
	s.done("CountBins", err)
	_, err = ndarray.CountNulls(s.ctx, a)
	s.done("CountNulls", err)
	_, err = ndarray.Compare(s.ctx, a, a, &ndarray.CompareOptions{Workers: 2, Memory: 1 << 20})
	s.done("ndarray.Compare", err)
	b, err := mem.New(ndarray.Spec{Shape: a.Shape(), DType: a.DType()})
	s.done("mem.New", err)
	if err != nil {
		return
	}
	dst, err := ndarray.New(b)
	s.done("ndarray.New", err)
	if err != nil {
		return
	}
	_, err = ndarray.Copy(s.ctx, dst, a, &ndarray.CopyOptions{Workers: 2, Memory: 1 << 20})
	s.done("Copy", err)
	s.done("Map", ndarray.Map(s.ctx, dst, a, o, func(_ context.Context, _ ndarray.Region, out, in []byte) error {
		copy(out, in)
		return nil
	}))
	s.done("Array.Close", dst.Close())
}

// reports calls the functions that check and repair files.
func (s *session) reports() {
	_, err := hyperslab.Verify(s.ctx, s.place, &hyperslab.VerifyOptions{Untrusted: s.trust != nil, Workers: 2, MaxChunk: entryBytes, MaxMetadata: entryBytes})
	s.done("Verify", err)
	_, err = hyperslab.Recover(s.ctx, s.output(""), s.place, &hyperslab.RecoverOptions{MaxChunk: entryBytes})
	s.done("Recover", err)
	p, err := hyperslab.PlanRepair(s.ctx, s.place, &hyperslab.RepairOptions{MaxChunk: entryBytes})
	s.done("PlanRepair", err)
	if err == nil {
		to := s.output("")
		err = p.Apply(s.ctx, to, s.place, nil)
		s.done("RepairPlan.Apply", err)
		if err == nil {
			s.done("RepairPlan.Reverse", p.Reverse().Apply(s.ctx, s.output(""), to, nil))
		}
	}
	_, err = plans.Parse(s.content)
	s.done("plan.Parse", err)
	if s.content != nil { // a file
		_, err = plans.NewFiles(s.ctx, "convert", s.place, s.output(""), []string{"convert"}, nil)
		s.done("plan.NewFiles", err)
	}
	if s.trust == nil {
		for _, operation := range []string{"convert", "repack"} {
			p, err := plans.New(s.ctx, operation, location(s.place, s.objects[0]), s.output(".b2nd"), nil)
			s.done("plan.New", err)
			if err == nil && len(p.Stages) > 0 {
				_, err = p.Work(s.ctx, 0, 0, nil)
				s.done("Plan.Work", err)
				_, err = p.Missing(s.ctx, 0)
				s.done("Plan.Missing", err)
				s.done("Plan.Commit", p.Commit(s.ctx, nil))
			}
		}
	}
}

// writers calls the functions that change files or copy them without a check, on copies.
func (s *session) writers() {
	_, err := hyperslab.CheckCloud(s.ctx, s.place)
	s.done("CheckCloud", err)
	s.done("WriteReferences", hyperslab.WriteReferences(s.ctx, s.output(".json"), s.place, &hyperslab.ReferenceOptions{URL: "https://example.org/x"}))
	s.done("Repack", hyperslab.Repack(s.ctx, s.output(".h5"), s.place, &hyperslab.RepackOptions{Accept: func(hyperslab.Problem) bool { return true }}))
	_, err = hyperslab.CopyObjects(s.ctx, s.output(".h5"), []hyperslab.ObjectCopy{{From: s.place + ":/", To: "/x"}}, nil)
	s.done("CopyObjects", err)
	dir := s.output("")
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(s.place))); err != nil {
		return // a directory with pipes and links
	}
	place := filepath.Join(dir, filepath.Base(s.place))
	s.done("EditGroupAttrs", hyperslab.EditGroupAttrs(s.ctx, place+":/", []ndarray.Attr{{Name: "a", Value: ndarray.Text("x")}}, []string{"b"}))
	s.done("Update", hyperslab.Update(s.ctx, place, func(string) error { return nil }))
	s.done("UpdateWith", hyperslab.UpdateWith(s.ctx, place, nil, func(string) error { return nil }))
	d, err := hyperslab.Create(s.ctx, place+":/new", ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int32]()}, nil)
	s.done("Create", err)
	if err == nil {
		s.done("Draft.Commit", d.Commit(s.ctx))
		s.done("Draft.Close", d.Close())
	}
	for _, object := range s.objects {
		a, err := hyperslab.Open(s.ctx, location(place, object), &hyperslab.OpenOptions{Write: true})
		s.done("Open for writing", err)
		if err == nil {
			s.change(a)
			s.done("Array.Close", a.Close())
		}
	}
	if s.content == nil {
		s.done("GatherTable", bcolz.GatherTable(place, []string{"a", "b"}, nil))
	}
}

// change calls the methods that change an array.
func (s *session) change(a *ndarray.Array) {
	s.done("SetAttr", a.SetAttr(s.ctx, ndarray.Attr{Name: "a", Value: ndarray.Text("x")}))
	s.done("DeleteAttr", a.DeleteAttr(s.ctx, "a"))
	r := window(a, 1<<12)
	n := r.NumElems()
	src := make([]byte, n*int64(a.DType().Size))
	s.done("Array.Write", a.Write(s.ctx, src, r))
	s.done("Array.WriteStrings", a.WriteStrings(s.ctx, make([]string, n), r))
	s.done("Write", ndarray.Write(s.ctx, a, make([]int32, n), r))
	s.done("WriteAs", ndarray.WriteAs(s.ctx, a, make([]float64, n), r))
	all := ndarray.Select(ndarray.Ellipsis())
	if a.NBytes() < 1<<16 {
		s.done("Array.Put", a.Put(s.ctx, make([]byte, a.NBytes()), all))
		s.done("Put", ndarray.Put(s.ctx, a, make([]int32, a.NumElems()), all))
	}
	row := int64(a.DType().Size)
	for i, n := range a.Shape() {
		if i > 0 {
			row = min(row*max(n, 0), entryBytes)
		}
	}
	if row < entryBytes && len(a.Shape()) > 0 {
		s.done("Array.Append", a.Append(s.ctx, 0, make([]byte, row)))
		s.done("Append", ndarray.Append(s.ctx, a, 0, make([]int32, row/4)))
		s.done("Array.Insert", a.Insert(s.ctx, 0, 0, make([]byte, row)))
		s.done("Array.Delete", a.Delete(s.ctx, 0, 0, 1))
		shape := a.Shape()
		shape[0] = max(shape[0]-1, 0)
		s.done("Array.Resize", a.Resize(s.ctx, shape))
	}
	w, err := ndarray.NewRecordWriter[struct{ A int32 }](s.ctx, a, &ndarray.RecordWriterOptions{Count: 4, Interval: time.Hour})
	s.done("NewRecordWriter", err)
	if err == nil {
		s.done("RecordWriter.Close", w.Close())
	}
}

// limited yields the beginning of an iteration.
func limited[A, B any](seq func(func(A, B) bool)) func(func(A, B) bool) {
	return func(yield func(A, B) bool) {
		n := 0
		for a, b := range seq {
			if n++; !yield(a, b) || n == entryWalk {
				return
			}
		}
	}
}

// inLibrary reports whether a C library ended the process of a trusted file, according to the
// traces of the goroutines, so that no code in Go could return an error.
func inLibrary(o outcome, traces string) bool {
	switch o {
	case crash:
		return strings.Contains(traces, "signal arrived during cgo execution")
	case hang:
		return strings.Contains(traces, "._Cfunc_")
	}
	return false
}
