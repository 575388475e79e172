// Verification of HDF5 files: all metadata in Go, then each chunk and each piece of contiguous
// elements, then every object with libhdf5.

package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5walk"
	"github.com/hyperslab/hyperslab/ndarray"
)

// piece is the number of bytes of contiguous elements that one task reads.
const piece = 4 << 20

// h5File is the state that the datasets of a file share. It is a unit without tasks.
type h5File struct {
	f    *h5parts.File
	file *h5file.File
	size int64 // size of the file in bytes
	path string
	most int64
	lib  *h5.File // opened when a dataset needs it; always nil for untrusted files
	libs bool     // libhdf5 may open the file: it is trusted and its metadata are valid
	job  *job

	claims claims
}

func (u *h5File) tasks() int64        { return 0 }
func (u *h5File) need() int64         { return 0 }
func (u *h5File) place(int64) Finding { return Finding{Offset: -1, Chunk: -1} }
func (u *h5File) check(context.Context, int64, *scratch) (result, error) {
	return result{}, nil
}

func (u *h5File) close() error {
	err := u.f.Close()
	if u.lib != nil {
		err = errors.Join(err, u.lib.Close())
	}
	return err
}

// hdf5 checks the metadata of the file and adds its chunks as tasks.
func (j *job) hdf5(ctx context.Context, f *h5parts.File, path string) error {
	u := &h5File{f: f, path: path, most: j.opts.MaxChunk, libs: !j.opts.Untrusted && len(f.Members()) == 1, job: j}
	j.append(u)
	var err error
	if u.size, err = f.Size(); err != nil {
		return err
	}
	limits := h5file.DefaultLimits()
	limits.Structure = j.opts.MaxMetadata
	if u.file, err = h5file.Open(f, u.size, &limits); err != nil {
		return j.note(Finding{What: "superblock", Offset: -1, Chunk: -1, Err: err})
	}
	for _, m := range f.Members() {
		if err := m.Err(); err != nil {
			if err := j.note(Finding{What: "member file", File: filepath.Base(m.Path), Offset: -1, Chunk: -1, Err: err}); err != nil {
				return err
			}
		}
	}
	if d := u.file.Driver(); d != nil && len(f.Members()) == 1 {
		return j.note(Finding{What: "driver information", Offset: -1, Chunk: -1, Err: fmt.Errorf("%w: a member of a file in several parts (driver %q)", errors.ErrUnsupported, d.ID)})
	}
	valid, err := u.structure(ctx)
	if err != nil {
		return err
	}
	u.libs = u.libs && valid
	if err := u.datasets(ctx); err != nil {
		return err
	}
	if valid {
		if err := u.headers(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(u.beyond(), u.overlaps()); err != nil {
		return err
	}
	if !u.libs {
		return nil
	}
	return u.library(ctx)
}

// structure checks all metadata and reports whether they are valid.
func (u *h5File) structure(ctx context.Context) (bool, error) {
	if s := u.file.Superblock(); s.Version >= 3 && s.Flags&(h5file.WriteAccess|h5file.SWMRWrite) != 0 {
		return false, u.job.note(Finding{What: "superblock", Offset: u.file.UserBlock(), Chunk: -1, Err: &format.Error{
			Format: "hdf5", What: "file consistency flags", Offset: u.file.UserBlock(), Got: s.Flags.String(),
			Want: "a file that was closed by its writer; the library refuses others", Err: format.ErrCorrupt,
		}})
	}
	p, err := h5check.Policy(ctx, u.file, h5check.Options{ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true, AnyFilter: true})
	if err != nil {
		return false, err
	}
	p.Members, p.FreeSpace = true, true
	p.Decoded = func(l *h5file.Pipeline) bool { // each chunk is a task, which reports a more precise location
		pipe, _ := filter.New(h5types.Filters(l), filter.Options{})
		return pipe != nil
	}
	p.Decode = func(l *h5file.Pipeline, mask uint32, b []byte, size uint64) ([]byte, error) {
		dst := make([]byte, size)
		pipe, err := filter.New(h5types.Filters(l), filter.Options{})
		if err != nil {
			return dst, nil // treated as null references; the chunk's own task reports the error
		}
		return dst, pipe.Decode(dst, b, mask)
	}
	if err = u.file.Check(p); err == nil {
		return true, nil
	}
	bad := func(what string, err error) error {
		return u.job.note(Finding{What: what, Offset: -1, Chunk: -1, Err: err})
	}
	if errors.Is(err, format.ErrUnsupported) || newer(err) || errors.Is(err, format.ErrLimit) {
		return false, bad("metadata", err)
	}
	// Check stops at the first error, but complaints continues.
	found, object, stopped := u.complaints()
	if stopped == nil && !found {
		stopped = u.job.note(Finding{Object: object, What: "metadata", Offset: -1, Chunk: -1, Err: err})
	}
	return false, stopped
}

// dataset is a unit: the chunks, or pieces, of one dataset.
type dataset struct {
	*h5File
	path   string
	layout *h5file.Layout
	dims   []uint64

	chunks     []h5file.Chunk
	full       int64 // size in bytes of an unfiltered chunk
	filters    []h5.Filter
	steps      *h5file.Pipeline            // the same filters; nil without filters
	pipeline   *filter.Pipeline            // nil if package filter lacks one of the filters
	decoded    int                         // the first chunks, up to this one, are tasks; the filters of the others are not available
	partial    map[uint32]*filter.Pipeline // without a pipeline: the filters of chunks with these masks
	why        error                       // reason why pipeline is nil
	summed     []int                       // indexes of the filters that compare a checksum of the values when they decode
	start, end h5file.Addr                 // range of contiguous elements
}

// datasets adds the datasets that can be reached.
func (u *h5File) datasets(ctx context.Context) error {
	for e := range u.file.Walk() { // structure has reported the errors
		if err := ctx.Err(); err != nil {
			return err
		}
		o := e.Object
		if o == nil || o.Kind() != h5file.DatasetKind || o.Err() != nil {
			continue
		}
		u.job.report.Arrays++
		if err := u.dataset(e.Path, o); err != nil {
			return err
		}
	}
	return nil
}

func (u *h5File) dataset(path string, o *h5file.Object) error {
	l, s, t := o.Layout(), o.Dataspace(), o.Datatype()
	if l == nil || s == nil || t == nil {
		return nil // reported by structure
	}
	elsewhere := func(what string) error {
		if !u.job.opts.Untrusted {
			return nil // others reads these files
		}
		return u.job.note(Finding{Object: path, What: what, Offset: -1, Chunk: -1, Err: fmt.Errorf("%w: elements in other files are not examined", errors.ErrUnsupported)})
	}
	d := &dataset{h5File: u, path: path, layout: l, dims: s.Dims}
	switch {
	case l.Class == h5file.Contiguous && o.ExternalFiles() != nil:
		return elsewhere("external files")
	case l.Class == h5file.Virtual:
		maps, err := o.Mappings()
		if err == nil && slices.ContainsFunc(maps, func(m h5file.Mapping) bool { return m.File != "." }) {
			return elsewhere("virtual sources")
		}
		return nil
	case l.Class == h5file.Contiguous && l.Addr.Defined():
		n, ok := s.Elements()
		if !ok || n > math.MaxInt64/uint64(max(t.Size, 1)) {
			return nil // reported by structure
		}
		if err := u.spare(path, l, n*uint64(t.Size)); err != nil {
			return err
		}
		return u.contiguous(d, n*uint64(t.Size))
	case l.Class == h5file.Compact:
		if n, ok := s.Elements(); ok {
			if err := u.spare(path, l, n*uint64(t.Size)); err != nil {
				return err
			}
		}
	case l.Class == h5file.Chunked:
		return u.chunked(d, o)
	}
	return nil // other layouts store no elements outside of the header
}

// contiguous adds the pieces of the claimed bytes of elements that are inside the file. The missing
// rest is one error, because a header of some bytes can claim any size.
func (u *h5File) contiguous(d *dataset, claimed uint64) error {
	d.start = d.layout.Addr
	there := claimed
	if rest := uint64(u.f.Rest(u.file.Position(d.layout.Addr))); claimed > rest {
		there = rest
		p := d.place(0)
		p.Err = &format.Error{Format: "hdf5", What: "elements", Offset: max(p.Offset, 0), Got: fmt.Sprintf("%d bytes", there), Want: fmt.Sprint(claimed), Err: format.ErrTruncated}
		if err := u.job.note(p); err != nil {
			return err
		}
	}
	d.end = d.start + h5file.Addr(there)
	u.job.append(d)
	u.claims.add(d.path, d)
	u.claims.take(d.start, there, -1)
	return nil
}

func (u *h5File) chunked(d *dataset, o *h5file.Object) error {
	for c, err := range o.Chunks() {
		if err == nil {
			d.chunks = append(d.chunks, c)
		}
	}
	full, ok := o.ChunkBytes()
	if !ok || full > math.MaxUint32 {
		return nil // reported by structure
	}
	d.full = int64(full)
	d.steps = o.Pipeline()
	d.filters = h5types.Filters(d.steps)
	for i, f := range d.filters {
		switch f.ID {
		case h5.FilterFletcher32, h5.FilterDeflate, filter.IDBZip2: // deflate has the Adler-32 of zlib
			d.summed = append(d.summed, i)
		}
	}
	d.pipeline, d.why = filter.New(d.filters, filter.Options{})
	d.decoded = len(d.chunks)
	if d.pipeline == nil && !(u.libs && h5check.Decodable(d.filters)) {
		if h5check.Decodable(d.filters) {
			d.why = fmt.Errorf("%w; libhdf5 has it, and reads only trusted files without corrupt metadata", d.why)
		}
		if err := d.masked(); err != nil {
			return err
		}
	}
	u.job.append(d)
	u.claims.add(d.path, d)
	for i, c := range d.chunks {
		u.claims.take(c.Addr, c.Size, i)
	}
	return u.outside(d)
}

// masked moves the chunks that skip the filters that are not available to the front, and notes the
// others.
func (d *dataset) masked() error {
	d.partial = map[uint32]*filter.Pipeline{}
	missing := func(c h5file.Chunk) int {
		p, known := d.partial[c.Mask]
		if !known {
			var applied []h5.Filter
			for i, f := range d.filters {
				if c.Mask>>i&1 == 0 {
					applied = append(applied, f)
				}
			}
			p, _ = filter.New(applied, filter.Options{}) // d.why is the error
			d.partial[c.Mask] = p
		}
		if p == nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(d.chunks, func(a, b h5file.Chunk) int { return missing(a) - missing(b) })
	d.decoded, _ = slices.BinarySearchFunc(d.chunks, 1, func(c h5file.Chunk, one int) int { return missing(c) - one })
	if n := len(d.chunks) - d.decoded; n > 0 || len(d.chunks) == 0 {
		return d.job.note(Finding{Object: d.path, What: fmt.Sprintf("%d chunks", n), Offset: -1, Chunk: -1, Err: d.why})
	}
	return nil
}

func (d *dataset) tasks() int64 {
	if d.layout.Class == h5file.Chunked {
		return int64(d.decoded)
	}
	return grid.DivUp(format.Size(d.end-d.start), piece)
}

func (d *dataset) need() int64 {
	if d.layout.Class != h5file.Chunked {
		return piece
	}
	largest := uint64(0)
	for _, c := range d.chunks {
		largest = max(largest, c.Size)
	}
	return min(format.Size(largest), d.most) + min(d.full, d.most)
}

func (d *dataset) close() error { return nil } // h5File closes the file

func (d *dataset) place(i int64) Finding {
	p := Finding{Object: d.path, What: "chunk", Chunk: i, Offset: -1}
	at := d.start + h5file.Addr(i*piece)
	if d.layout.Class == h5file.Chunked {
		at = d.chunks[i].Addr
		for _, x := range d.chunks[i].Offset {
			p.Coords = append(p.Coords, format.Size(x))
		}
	} else {
		p.What, p.Chunk = "elements", -1
	}
	if offset := d.file.Position(at); offset >= 0 {
		p.Offset = offset
	}
	return p
}

func (d *dataset) check(_ context.Context, i int64, s *scratch) (r result, err error) {
	if d.layout.Class != h5file.Chunked {
		n := min(piece, format.Size(d.end-d.start)-i*piece)
		if err := d.read(sized(&s.raw, n), d.start+h5file.Addr(i*piece)); err != nil {
			return r, err
		}
		return result{decoded: n, stored: n}, nil
	}
	c := d.chunks[i]
	if d.full > d.most || c.Size > uint64(d.most) {
		return r, &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes, %d as stored", d.full, c.Size), Want: fmt.Sprintf("at most %d", d.most), Err: format.ErrLimit}
	}
	at := d.file.Position(c.Addr)
	if rest := d.f.Rest(at); c.Size > uint64(rest) {
		return r, &format.Error{Format: "hdf5", What: "chunk", Offset: min(max(at, 0), d.size), Got: fmt.Sprintf("%d bytes", c.Size), Want: fmt.Sprintf("at most %d, up to the end of the file", rest), Err: format.ErrTruncated}
	}
	if err := d.read(sized(&s.raw, int64(c.Size)), c.Addr); err != nil {
		return r, err
	}
	r.stored = int64(c.Size)
	plain := len(d.filters) == 0 || d.layout.Flags&h5file.PartialChunksUnfiltered != 0 && d.edge(c)
	switch {
	case plain && int64(c.Size) != d.full:
		return r, &format.Error{Format: "hdf5", What: "chunk", Got: fmt.Sprintf("%d bytes without filters", c.Size), Want: fmt.Sprint(d.full), Err: format.ErrCorrupt}
	case plain:
		r.decoded = d.full
		return r, nil
	case d.partial != nil:
		r.decoded = d.full
		return r, d.partial[c.Mask].Decode(sized(&s.data, d.full), s.raw, 0)
	case d.pipeline == nil:
		n, err := d.byLibrary(c, s)
		r.decoded = n
		return r, err
	}
	if slices.ContainsFunc(d.summed, func(i int) bool { return c.Mask>>i&1 == 0 }) {
		r.checksums = 1
	}
	r.decoded = d.full
	err = d.pipeline.Decode(sized(&s.data, d.full), s.raw, c.Mask)
	if err != nil {
		element := d.layout.Dims[len(d.layout.Dims)-1]
		err = cmp.Or(d.steps.LongEnough(c.Mask, s.raw, element, uint64(d.full)), d.cut(c, s, err))
	}
	return r, err
}

// cut explains the error of a chunk that is stored without its elements after the edge of the
// dataset, as some writers do. err is the error of decoding it.
func (d *dataset) cut(c h5file.Chunk, s *scratch, err error) error {
	n := format.Size(d.layout.Dims[len(d.dims)]) // bytes of an element
	for i, x := range c.Offset {
		if x >= d.dims[i] {
			return err
		}
		n *= format.Size(min(d.layout.Dims[i], d.dims[i]-x))
	}
	if n >= d.full || d.pipeline.Decode(sized(&s.data, n), s.raw, c.Mask) != nil {
		return err
	}
	return errs.CutChunk(err, n)
}

// edge reports whether a chunk extends beyond the edge of the dataset.
func (d *dataset) edge(c h5file.Chunk) bool {
	for i, x := range c.Offset {
		if x+d.layout.Dims[i] > d.dims[i] {
			return true
		}
	}
	return false
}

// read fills b with the bytes of the file at a.
func (d *dataset) read(b []byte, a h5file.Addr) error {
	at := d.file.Position(a)
	if at < 0 {
		return &format.Error{Format: "hdf5", What: "address", Got: a.String(), Want: "one inside the file", Err: format.ErrTruncated}
	}
	n, err := d.f.ReadAt(b, at)
	if n < len(b) && (err == nil || errors.Is(err, io.EOF)) {
		err = &format.Error{Format: "hdf5", What: "elements", Offset: at, Got: fmt.Sprintf("%d bytes", n), Want: fmt.Sprint(len(b)), Err: format.ErrTruncated}
	}
	if n == len(b) {
		err = nil
	}
	return err
}

// byLibrary reads the elements of a chunk with filters that only libhdf5 has.
func (d *dataset) byLibrary(c h5file.Chunk, s *scratch) (n int64, err error) {
	if !d.libs {
		return 0, d.why
	}
	if err := h5check.LongEnough(d.filters, c.Mask, s.raw, int(format.Size(d.layout.Dims[len(d.layout.Dims)-1])), int(d.full)); err != nil {
		return 0, err
	}
	lib, err := d.openLibrary()
	if err != nil {
		return 0, err
	}
	set, err := lib.Root().OpenDataset(d.path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	info, err := set.Info()
	if err != nil {
		return 0, err
	}
	region := h5.Region{}
	n = int64(info.Datatype.Size)
	for i, x := range c.Offset {
		if x >= d.dims[i] {
			return 0, nil // the chunk is outside the dataset, and libhdf5 does not read it
		}
		count := min(d.layout.Dims[i], d.dims[i]-x)
		region.Start, region.Count = append(region.Start, int64(x)), append(region.Count, format.Size(count))
		n *= format.Size(count)
	}
	if !info.Datatype.Plain() {
		return 0, fmt.Errorf("%w: %w", errors.ErrUnsupported, d.why)
	}
	return n, set.ReadRegion(sized(&s.data, n), info.Datatype, region)
}

// openLibrary opens the file with libhdf5 on its first call.
func (u *h5File) openLibrary() (*h5.File, error) {
	u.job.mu.Lock()
	defer u.job.mu.Unlock()
	if u.lib != nil {
		return u.lib, nil
	}
	f, err := h5walk.Open(u.path, nil)
	if err != nil {
		return nil, err
	}
	if why := f.Unlocked(); why != nil && u.job.opts.Unlocked != nil {
		u.job.opts.Unlocked(u.path, why)
	}
	u.lib = f
	return f, nil
}

// library lets libhdf5 open every object. It must only be called for files with valid metadata.
func (u *h5File) library(ctx context.Context) error {
	f, err := u.openLibrary()
	if err == nil {
		err = h5walk.Walk(f, u.path, "/", h5walk.Sizes, func(o h5walk.Object) (bool, error) {
			return true, errors.Join(ctx.Err(), u.opened(o.Path, o.Err))
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return u.opened("", err)
}

// opened records an object that libhdf5 did not open. A datatype that ndarray does not support is
// no error.
func (u *h5File) opened(object string, err error) error {
	if err == nil || errors.Is(err, ndarray.ErrType) {
		return nil
	}
	return u.job.note(Finding{Object: object, What: "object, read by the library", Offset: -1, Chunk: -1, Err: err})
}
