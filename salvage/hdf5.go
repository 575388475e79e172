// HDF5 files: the file itself without the flags of its writer, if nothing else is
// wrong; else a new one of what can still be read.

package salvage

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/format"
	"github.com/hyperslab/hyperslab/format/hdf5"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
)

// source is a damaged HDF5 file.
type source struct {
	r    *Report
	seen *passes
	most int64
	in   io.ReaderAt   // the file, perhaps with another superblock
	read *atomic.Int64 // bytes so far; nil for a copy
	size int64
	file *hdf5.File
	data []byte // of a chunk that was decoded

	library library // decodes chunks that this module cannot

	out     *h5.File
	values  *hdf5.Values
	waiting []func() error       // what needs all objects of the new file
	done    map[hdf5.Addr]string // what was made of an object
	unsure  map[hdf5.Addr]bool   // objects of which any message may be wrong
	omit    map[string]error     // objects that are left out because they are not valid in the new file
	guessed bool                 // nothing but luck leads to what is written now
	checked bool                 // a checksum confirms what is written now
	damaged bool                 // something was wrong on the way
	full    error                // there is no room for the new file
}

func recoverHDF5(ctx context.Context, r *Report, o Options, without omitted) (err error) {
	f, info, err := regular.Open(r.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	read := new(atomic.Int64)
	defer func() { r.work = read.Load() }()
	s := &source{r: r, seen: r.seen, most: o.MaxChunk, in: &counted{f, read}, read: read, size: info.Size(), done: map[hdf5.Addr]string{}, unsure: map[hdf5.Addr]bool{}, omit: without.objects}
	defer func() { err = errors.Join(err, s.library.close()) }()
	if without.rewrite {
		return s.salvage(ctx, r.made)
	}
	return s.write(ctx, r.made)
}

func (s *source) write(ctx context.Context, path string) error {
	whole, err := s.copy(ctx, path)
	if whole || err != nil {
		return err
	}
	return s.salvage(ctx, path)
}

// copy makes a copy without the flags of a writer, and says whether that is the new file:
// if its structure is sound. Chunks that do not decode are replaced in it.
func (s *source) copy(ctx context.Context, path string) (whole bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return false, err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err == nil && !whole {
			err = os.Remove(path)
		}
	}()
	s.seen.begin(s.size, s.size)
	if _, err := io.Copy(f, &withContext{ctx, io.NewSectionReader(s.in, 0, s.size), s.seen}); err != nil {
		return false, err
	}
	cleared, err := clearFlags(f, s.size)
	if err != nil {
		return false, err
	}
	anew := func(why string, err error) (bool, error) {
		s.r.note(Guessed, "", "file", -1, "written anew%s: %v", why, err)
		return false, ctx.Err()
	}
	c := &source{seen: s.seen, most: s.most, in: f, size: s.size}
	defer func() { err = errors.Join(err, c.library.close()) }()
	if err := c.check(); err != nil {
		return false, nil // what it is the salvage will meet
	}
	if err := c.distinct(ctx); err != nil {
		return anew("", err)
	}
	if end, unclosed := c.file.Unclosed(); unclosed {
		return anew(", since the library would cut it when it is written to", &h5.UnclosedError{End: end, Size: s.size})
	}
	if err := accepted(path); err != nil {
		return anew(", since the library refuses what no rule forbids", err)
	}
	s.seen.begin(s.size, 0)
	t, err := c.decoded(ctx)
	if err != nil {
		return false, err
	}
	if len(t.bad) > 0 {
		if err := replaceChunks(path, t.bad); errors.Is(err, errOtherFilters) {
			return anew(", since chunks cannot be replaced in it", err)
		} else if err != nil {
			return false, err
		}
		s.seen.begin(s.size, 0)
		if err := proved(ctx, f, s.seen, s.most); err != nil {
			return anew(", since chunks cannot be replaced in it", err)
		}
	}
	if cleared {
		s.r.note(Certain, "", "file consistency flags", 11, "cleared: the writer did not close the file, and everything in it is sound")
	}
	s.r.Arrays += t.arrays
	s.r.Chunks += t.good
	s.r.Certain += t.checked
	s.r.Unverified += t.good - t.checked
	for _, b := range t.bad {
		s.r.Lost++
		s.r.add(Finding{Lost, b.path, "chunk", b.i, int64(b.c.Addr) + c.file.UserBlock(), b.err.Error()})
	}
	return true, nil
}

// check opens the file and checks all of its metadata.
func (s *source) check() (err error) {
	if s.file, err = hdf5.Open(s.in, s.size, nil); err != nil {
		return err
	}
	if d := s.file.Driver(); d != nil {
		return fmt.Errorf("%w: driver %q", errors.ErrUnsupported, d.ID)
	}
	p := hdf5.Policy{ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true, Write: true, MaxChunk: uint64(s.most)}
	for e := range s.file.Walk() {
		if e.Object != nil && e.Object.Pipeline() != nil {
			for _, f := range e.Object.Pipeline().Filters {
				p.Filters = append(p.Filters, f.ID)
			}
		}
	}
	p.Decode = func(l *hdf5.Pipeline, mask uint32, b []byte, size uint64) ([]byte, error) {
		pipe, err := filter.New(filters(l), filter.Options{})
		dst := make([]byte, size)
		if err == nil {
			err = pipe.Decode(dst, b, mask)
		}
		return dst, err
	}
	return s.file.Check(p)
}

// extent is a range of bytes of the file, the last not included.
type extent struct {
	start, end int64
	what       string
	chunk      []uint64 // where its elements are; nil if it is no chunk
}

func (x extent) String() string {
	if x.chunk != nil {
		return fmt.Sprintf("the chunk at %v", x.chunk)
	}
	return x.what
}

// distinct reports a chunk that has bytes in common with another one or with anything else
// of a sound file. The index that says so may well decode, and so may they. A chunk that
// is replaced takes the room of others with it: the library frees it and writes there.
func (s *source) distinct(ctx context.Context) error {
	var all []extent
	base := s.file.UserBlock()
	for e := range s.file.Walk() {
		o := e.Object
		if o == nil || o.Kind() != hdf5.DatasetKind {
			continue
		}
		switch l := o.Layout(); l.Class {
		case hdf5.Contiguous:
			if n, _ := o.Dataspace().Elements(); l.Addr.Defined() && o.ExternalFiles() == nil {
				at := int64(l.Addr) + base
				all = append(all, extent{at, at + int64(n)*int64(o.Datatype().Size), "the elements of " + e.Path, nil})
			}
		case hdf5.Chunked:
			for c, err := range o.Chunks() {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				at := int64(c.Addr) + base
				all = append(all, extent{at, at + int64(c.Size), "", c.Offset})
			}
		}
	}
	// Its error is none of the file's, which is checked, but of elements whose filter it lacks.
	_ = hdf5.Structures(s.in, s.size, func(f format.Field) {
		all = append(all, extent{f.Offset, f.Offset + f.Length, f.Name, nil})
	})
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	var far, chunk extent // of all, and of the chunks: the one that reaches farthest
	for _, x := range all {
		before := chunk
		if x.chunk != nil {
			before = far
		}
		if x.start < min(before.end, x.end) {
			return fmt.Errorf("%v and %v overlap in the file", before, x)
		}
		if x.end > far.end {
			far = x
		}
		if x.chunk != nil && x.end > chunk.end {
			chunk = x
		}
	}
	return nil
}

// accepted looks with the library at every object of a file whose structure is sound: it
// has rules that no document tells.
func accepted(path string) (err error) {
	f, err := h5.Open(path, h5.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for o, err := range f.Root().Visit() {
		if err != nil {
			return err
		}
		if o.Kind != h5.DatasetObject {
			continue
		}
		d, err := f.Root().OpenDataset(o.Path)
		if err == nil {
			_, err = d.Info()
			err = errors.Join(err, d.Close())
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// clearFlags clears the file consistency flags of superblock 3, and says whether any
// were set.
func clearFlags(f *os.File, size int64) (bool, error) {
	file, err := hdf5.Open(f, size, nil)
	if err != nil {
		return false, nil
	}
	sb := file.Superblock()
	if sb.Version < 3 || sb.Flags == 0 {
		return false, nil
	}
	b := make([]byte, 12+4*sb.OffsetSize+4)
	if _, err := f.ReadAt(b, file.UserBlock()); err != nil {
		return false, err
	}
	b[11] = 0
	binary.LittleEndian.PutUint32(b[len(b)-4:], hdf5.Lookup3(b[:len(b)-4]))
	_, err = f.WriteAt(b, file.UserBlock())
	return true, err
}

// lostChunk is one that does not decode.
type lostChunk struct {
	path string
	c    hdf5.Chunk
	full uint64 // bytes of its elements
	i    int64
	err  error
}

// tally is what is in a sound file.
type tally struct {
	arrays, good int64
	checked      int64 // of the good ones: a checksum confirms values and place
	bad          []lostChunk
}

// decoded decodes every chunk of a sound file.
func (s *source) decoded(ctx context.Context) (t tally, err error) {
	for e := range s.file.Walk() {
		o := e.Object
		if o == nil || o.Kind() != hdf5.DatasetKind {
			continue
		}
		t.arrays++
		if o.Layout().Class != hdf5.Chunked {
			continue
		}
		i, placed := int64(0), placed(o)
		for c, err := range o.Chunks() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return t, err
			}
			if _, _, err := s.chunk(o, c); err != nil && !errors.Is(err, h5.ErrNoFilter) {
				full, _ := o.Layout().ChunkBytes()
				t.bad = append(t.bad, lostChunk{e.Path, c, full, i, err})
			} else {
				t.good++
				if err == nil && placed && summed(o, c) {
					t.checked++
				}
			}
			i++
		}
	}
	return t, nil
}

// replaceChunks writes fill values in the place of chunks that cannot be decoded.
func replaceChunks(path string, list []lostChunk) (err error) {
	f, err := h5.Open(path, h5.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, b := range list {
		if err := fillChunk(f, b.path, b.c, b.full); err != nil {
			return err
		}
	}
	return nil
}

// proved looks at a file in which chunks were replaced as at any other.
func proved(ctx context.Context, f *os.File, seen *passes, most int64) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s := &source{seen: seen, most: most, in: f, size: info.Size()}
	defer func() { err = errors.Join(err, s.library.close()) }()
	if err := s.check(); err != nil {
		return err
	}
	if err := s.distinct(ctx); err != nil {
		return err
	}
	t, err := s.decoded(ctx)
	if err == nil && len(t.bad) > 0 {
		err = t.bad[0].err
	}
	return err
}

// fillChunk replaces a chunk of so many bytes with fill values. References are null.
func fillChunk(f *h5.File, path string, c hdf5.Chunk, full uint64) (err error) {
	d, err := f.Root().OpenDataset(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil {
		return err
	}
	n := int(full)
	values := make([]byte, n)
	for at := 0; info.Datatype.Plain() && len(info.Fill) > 0 && at < n; at += len(info.Fill) {
		copy(values[at:], info.Fill)
	}
	raw, mask, err := encoded(info, values)
	if err != nil {
		return err
	}
	at := make([]int64, len(c.Offset))
	for i, x := range c.Offset {
		at[i] = int64(x)
	}
	return d.WriteChunk(raw, mask, at...)
}

// encoded is a chunk of a dataset as it is stored, and its mask.
func encoded(info h5.DatasetInfo, values []byte) (raw []byte, mask uint32, err error) {
	p, err := filter.New(info.Filters, filter.Options{})
	if err == nil {
		return p.Encode(make([]byte, p.Bound(len(values))), values)
	}
	one, err := newSample(info.Datatype, info.Chunks, info.Filters, info.Fill)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	return one.encode(values)
}

// chunk reads a chunk and decodes it, into s.data. Without a filter it is an
// *h5.FilterError, h5.ErrNoFilter, and raw is there.
func (s *source) chunk(o *hdf5.Object, c hdf5.Chunk) (raw, values []byte, err error) {
	s.seen.more(int64(min(c.Size, uint64(s.size))))
	l := o.Layout()
	if t := o.Datatype(); t == nil || len(l.Dims) == 0 || l.Dims[len(l.Dims)-1] != uint64(t.Size) {
		return nil, nil, fmt.Errorf("%w: chunks of elements of another size than the datatype's", format.ErrCorrupt)
	}
	full, ok := l.ChunkBytes()
	if !ok || full > uint64(s.most) || c.Size > uint64(s.most) || c.Size > uint64(s.size) {
		return nil, nil, fmt.Errorf("%w: %d bytes, %d as stored", format.ErrLimit, full, c.Size)
	}
	if raw, err = s.file.Read(c.Addr, int64(c.Size)); err != nil {
		return raw, nil, err
	}
	if uint64(len(raw)) != c.Size {
		return raw, nil, fmt.Errorf("%w: %d of %d bytes", format.ErrTruncated, len(raw), c.Size)
	}
	list := filters(o.Pipeline())
	if l.Flags&hdf5.PartialChunksUnfiltered != 0 && edge(o, c) {
		list = nil
	}
	if len(list) == 0 {
		if c.Size != full {
			return raw, nil, fmt.Errorf("%w: %d bytes without filters, want %d", format.ErrCorrupt, c.Size, full)
		}
		return raw, raw, nil
	}
	if uint64(cap(s.data)) < full {
		s.data = make([]byte, full)
	}
	s.data = s.data[:full]
	p, err := filter.New(list, filter.Options{})
	if err == nil {
		return raw, s.data, p.Decode(s.data, raw, c.Mask)
	}
	if t := o.Datatype(); filter.Decodable(list) && !refers(t) && len(l.Dims) <= h5.MaxRank {
		one, err := s.library.sample(o, list)
		if err != nil {
			return raw, nil, err
		}
		return raw, s.data, one.decode(s.data, raw, c.Mask)
	}
	return raw, nil, err
}

// summed reports whether a filter of a chunk that decoded has compared a checksum of its values:
// Fletcher32, the Adler-32 of zlib or the CRC-32 of bzip2.
func summed(o *hdf5.Object, c hdf5.Chunk) bool {
	if o.Layout().Flags&hdf5.PartialChunksUnfiltered != 0 && edge(o, c) {
		return false
	}
	for i, f := range filters(o.Pipeline()) {
		switch f.ID {
		case h5.FilterFletcher32, h5.FilterDeflate, filter.BZip2:
			if c.Mask>>i&1 == 0 {
				return true
			}
		}
	}
	return false
}

// placed reports whether the places of the chunks of a dataset are confirmed: the index has
// checksums, or it contains each chunk of the dataset once and in order. Version 1 of the B-tree
// has no checksums.
func placed(o *hdf5.Object) bool {
	l, space := o.Layout(), o.Dataspace()
	if l.Index != hdf5.BTree1Index {
		return true
	}
	want := make([]uint64, len(space.Dims))
	for c, err := range o.Chunks() {
		if err != nil || c.Unsure != nil || len(want) == 0 || !slices.Equal(c.Offset, want) {
			return false
		}
		for i := len(want) - 1; i >= 0; i-- {
			if want[i] += l.Dims[i]; want[i] < space.Dims[i] || i == 0 {
				break
			}
			want[i] = 0
		}
	}
	return len(want) > 0 && want[0] >= space.Dims[0]
}

// edge reports whether a chunk reaches over the edge of the dataset.
func edge(o *hdf5.Object, c hdf5.Chunk) bool {
	l, space := o.Layout(), o.Dataspace()
	for i, x := range c.Offset {
		if i < len(space.Dims) && x+l.Dims[i] > space.Dims[i] {
			return true
		}
	}
	return false
}

func filters(l *hdf5.Pipeline) []h5.Filter {
	if l == nil {
		return nil
	}
	out := make([]h5.Filter, len(l.Filters))
	for i, f := range l.Filters {
		out[i] = h5.Filter{ID: int(f.ID), Name: f.Name, Optional: f.Optional, Values: slices.Clone(f.Values)}
	}
	return out
}

// asked are filters as a dataset with them is created: those that compute more parameters
// get what they computed them from. One that is not linked has to be optional: chunks that
// have it are as they were, and the library makes no others.
func asked(list []h5.Filter) []h5.Filter {
	list = slices.Clone(list)
	for i := range list {
		f := &list[i]
		switch f.ID {
		case h5.FilterSzip, h5.FilterScaleOffset:
			f.Values = f.Values[:min(2, len(f.Values))]
		case h5.FilterNbit:
			f.Values = nil
		case filter.BitShuffle: // behind its version and the size of an element
			f.Values = f.Values[min(3, len(f.Values)):]
		}
		if !f.Optional {
			can, err := h5.FilterAvailable(f.ID)
			f.Optional = err == nil && !can.Encode
		}
	}
	return list
}

// withContext is a reader that ends with its context, and is counted.
type withContext struct {
	ctx  context.Context
	r    io.Reader
	seen *passes
}

func (r *withContext) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(p)
	r.seen.more(int64(n))
	return n, err
}

// salvage makes a new file of what can be read.
func (s *source) salvage(ctx context.Context, path string) (err error) {
	if s.out, err = h5.Create(path, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.out.Close()) }()
	root, err := s.open()
	if err != nil {
		return err
	}
	s.seen.begin(s.size, 0)
	if root != nil {
		if err := s.group(ctx, "/", root); err != nil {
			return err
		}
	}
	if s.damaged || root == nil {
		if err := s.orphans(ctx, root == nil); err != nil {
			return err
		}
	}
	for _, f := range s.waiting {
		if err := errors.Join(ctx.Err(), f()); err != nil {
			return err
		}
	}
	if s.full != nil {
		return s.full
	}
	if s.r.Arrays == 0 && len(s.done) < 2 {
		return nothing("object")
	}
	return nil
}

// open opens the file, or if there is no superblock, with one that was made up. The
// root group is nil if it cannot be found.
func (s *source) open() (*hdf5.Object, error) {
	f, err := hdf5.Open(s.in, s.size, nil)
	if err == nil {
		s.file = f
		if d := f.Driver(); d != nil {
			return nil, fmt.Errorf("%w: a member of a file in several pieces (driver %q)", errors.ErrUnsupported, d.ID)
		}
		if err := f.Damage(); err != nil {
			s.damaged = true
			s.r.note(Certain, "", "superblock", f.UserBlock(), "%v", err)
		}
		root, rerr := f.Root()
		if root != nil && root.Kind() == hdf5.GroupKind {
			if rerr != nil {
				s.damaged = true
				s.r.note(Lost, "/", "object header", int64(root.Addr)+f.UserBlock(), "%v", rerr)
			}
			s.done[root.Addr] = "/"
			return root, nil
		}
		s.r.note(Lost, "/", "root group", -1, "%v", rerr)
	} else {
		s.r.note(Lost, "", "superblock", 0, "%v", err)
		b := []byte(hdf5.Signature + "\x02\x08\x08\x00")
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(hdf5.Undefined))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint32(b, hdf5.Lookup3(b))
		if s.size < int64(len(b)) {
			return nil, nothing("object")
		}
		s.in = &overlaid{s.in, b}
		if s.file, err = hdf5.Open(s.in, s.size, nil); err != nil {
			return nil, fmt.Errorf("%w: %w", ndarray.ErrCorrupt, err)
		}
	}
	s.damaged = true
	return nil, nil
}

// counted is a file of which the bytes are counted that are read.
type counted struct {
	r io.ReaderAt
	n *atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// overlaid is a file that begins with other bytes.
type overlaid struct {
	r    io.ReaderAt
	head []byte
}

func (o *overlaid) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.r.ReadAt(p, off)
	if off < int64(len(o.head)) {
		copy(p[:n], o.head[off:])
	}
	return n, err
}
