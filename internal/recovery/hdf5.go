// Recovery of HDF5 files. If only the writer's flags or chunks are wrong, the file is copied and
// corrected. Otherwise its objects are written to a new file.

package recovery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"slices"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5types"
	"github.com/hyperslab/hyperslab/ndarray"
)

// source is a corrupt HDF5 file.
type source struct {
	r    *Report
	seen *passes
	most int64
	in   io.ReaderAt   // the file, with a substituted superblock if its own is missing
	read *atomic.Int64 // number of bytes read so far; nil for a copy
	size int64
	file *h5file.File
	data []byte // buffer for the values of a decoded chunk

	trial    *h5file.Pipeline     // filters that replace those of a dataset; nil: the stored ones
	doubts   map[h5file.Addr]bool // results of doubtful
	reencode bool                 // the chunk that was read last must not be copied in its stored form

	library library // decodes chunks with filters that package filter lacks

	out     *h5copy.Writer
	values  *h5file.Values
	found   []*h5file.Object     // objects that a search of the file found
	linked  map[h5file.Addr]bool // objects that groups in found link to; nil before the search
	unsure  map[h5file.Addr]bool // objects in which any message may be wrong
	omit    map[string]error     // objects that are left out because they are invalid in the new file
	guessed bool                 // only a guess leads to the elements being written
	checked bool                 // a checksum confirms the elements being written
	corrupt bool                 // an error was found in the file
	full    error                // error if the disk is too full for the new file
}

func recoverHDF5(ctx context.Context, r *Report, o Options, without omitted) (err error) {
	read := new(atomic.Int64)
	defer func() { r.work = read.Load() }()
	s := &source{r: r, seen: r.seen, most: o.MaxChunk, in: &counted{r.file, read}, read: read, size: r.size, unsure: map[h5file.Addr]bool{}, omit: without.objects}
	defer func() { err = errors.Join(err, s.library.close()) }()
	if err := s.repair(ctx); err != nil {
		return err
	}
	if without.rewrite {
		return s.rewrite(ctx, r.made)
	}
	return s.write(ctx, r.made)
}

// repair replaces the fields of the file that evidence disproves. The rest of the recovery reads
// the file with these changes.
func (s *source) repair(ctx context.Context) error {
	p := &planner{patched: patched{in: s.in}, size: s.size, most: s.most}
	if err := p.plan(ctx); err != nil {
		return err
	}
	for _, c := range p.changes {
		if !c.follows {
			s.r.note(Certain, c.Object, c.Structure, c.Offset, "%s", c.Reason)
		}
	}
	s.in = &p.patched
	return nil
}

func (s *source) write(ctx context.Context, path string) error {
	whole, err := s.copy(ctx, path)
	if whole || err != nil {
		return err
	}
	return s.rewrite(ctx, path)
}

// copy copies the file. It reports whether the copy is the new file, which it is if its structure
// is valid. Chunks that do not decode are replaced in the copy.
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
	rewrite := func(why string, err error) (bool, error) {
		s.r.note(Guessed, "", "file", -1, "rewritten%s: %v", why, err)
		return false, ctx.Err()
	}
	c := &source{seen: s.seen, most: s.most, in: f, size: s.size}
	defer func() { err = errors.Join(err, c.library.close()) }()
	if err := c.check(true); err != nil {
		return false, nil // rewrite reports the error
	}
	if err := c.checkOverlaps(ctx); err != nil {
		return rewrite("", err)
	}
	if end, unclosed := c.file.Unclosed(); unclosed {
		return rewrite(", because the library would truncate it on a write", &h5.UnclosedError{End: end, Size: s.size})
	}
	if err := openPath(path); err != nil {
		return rewrite(", because the library refuses a form that the specification allows", err)
	}
	s.seen.begin(s.size, 0)
	t, err := c.decoded(ctx)
	if err != nil {
		return false, err
	}
	if t.short {
		s.r.note(Certain, "", "file", -1, "rewritten, because chunks of another length cannot stay in it: %v", errStoredLength)
		return false, nil
	}
	if len(t.bad) > 0 {
		if err := replaceChunks(path, t.bad); errors.Is(err, errOtherFilters) {
			return rewrite(", because chunks cannot be replaced in it", err)
		} else if err != nil {
			return false, err
		}
		s.seen.begin(s.size, 0)
		if err := checkReplaced(ctx, f, s.seen, s.most); err != nil {
			return rewrite(", because chunks cannot be replaced in it", err)
		}
	}
	s.r.Arrays += t.arrays
	s.r.Chunks += t.good
	s.r.Certain += t.checked
	s.r.Unverified += t.good - t.checked
	for _, e := range t.doubtful {
		s.r.doubt(e.Path, e.Object)
	}
	for _, b := range t.bad {
		s.r.Lost++
		s.r.add(finding(Lost, b.path, "chunk", b.i, format.Size(b.c.Addr)+c.file.UserBlock(), b.err.Error()))
	}
	return true, nil
}

// check opens the file and checks all of its metadata. With write, libhdf5 must also be able to
// change the file.
func (s *source) check(write bool) (err error) {
	if s.file, err = h5file.Open(s.in, s.size, nil); err != nil {
		return err
	}
	if d := s.file.Driver(); d != nil {
		return fmt.Errorf("%w: driver %q", errors.ErrUnsupported, d.ID)
	}
	p, err := h5check.Policy(context.Background(), s.file, h5check.Options{
		ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true, Chunk: int64(s.most), AnyFilter: true,
	})
	if err != nil {
		return err
	}
	p.Write = write
	return s.file.Check(p)
}

// extent is a range of bytes of the file, [start, end).
type extent struct {
	start, end int64
	what       string
	chunk      []uint64 // index of its first element; nil if the extent is not a chunk
}

// endOf returns the end of n bytes at an offset of a file, or the largest offset for a size that no
// file has.
func endOf(at int64, n uint64) int64 {
	if n > uint64(math.MaxInt64-max(at, 0)) {
		return math.MaxInt64
	}
	return at + int64(n)
}

func (x extent) String() string {
	if x.chunk != nil {
		return fmt.Sprintf("the chunk at %v", x.chunk)
	}
	return x.what
}

// contiguousExtent returns the range of contiguous elements in the file; end is 0 if there are
// none.
func contiguousExtent(o *h5file.Object, base int64) (at, end int64) {
	l := o.Layout()
	if !l.Addr.Defined() || o.ExternalFiles() != nil {
		return 0, 0
	}
	n, _ := o.Dataspace().Elements()
	hi, bytes := bits.Mul64(n, uint64(o.Datatype().Size))
	if hi != 0 {
		bytes = math.MaxUint64
	}
	at = format.Size(l.Addr) + base
	return at, endOf(at, bytes)
}

// checkOverlaps returns an error if a chunk overlaps another chunk or another structure of a valid
// file. The index and the chunks may decode nevertheless. Replacing such a chunk would destroy the
// other structure, because libhdf5 frees the chunk's space and writes there.
func (s *source) checkOverlaps(ctx context.Context) error {
	var all []extent
	base := s.file.UserBlock()
	for e := range s.file.Walk() {
		o := e.Object
		if o == nil || o.Kind() != h5file.DatasetKind {
			continue
		}
		switch l := o.Layout(); l.Class {
		case h5file.Contiguous:
			if at, end := contiguousExtent(o, base); end > 0 {
				all = append(all, extent{at, end, "the elements of " + e.Path, nil})
			}
		case h5file.Chunked:
			for c, err := range o.Chunks() {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				at := format.Size(c.Addr) + base
				all = append(all, extent{at, endOf(at, c.Size), "", c.Offset})
			}
		}
	}
	// Check has already passed; an error here is only about references in chunks with a missing
	// filter.
	_ = h5file.Structures(s.in, s.size, func(f format.Field) {
		all = append(all, extent{f.Offset, f.Offset + f.Length, f.Name, nil})
	})
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	var far, chunk extent // the extent with the largest end, of all extents and of the chunks
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

// openPath opens every object of the file at a path with libhdf5.
func openPath(path string) (err error) {
	f, err := h5.Open(path, h5.ReadOnly)
	if err != nil {
		return err
	}
	return openAll(f)
}

// openAll opens every object of a file, because libhdf5 has rules that are not documented. It
// closes the file.
func openAll(f *h5.File) (err error) {
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

// lostChunk is a chunk that does not decode.
type lostChunk struct {
	path string
	c    h5file.Chunk
	full uint64 // bytes of its elements
	i    int64
	err  error
}

// tally is the result of decoding a valid file.
type tally struct {
	arrays, good int64
	checked      int64 // of the good chunks: a checksum confirms values and location
	bad          []lostChunk
	doubtful     []h5file.Entry
	short        bool // a chunk is stored in a form that HDF5 2.2 refuses
}

// decoded decodes every chunk of a valid file.
func (s *source) decoded(ctx context.Context) (t tally, err error) {
	for e := range s.file.Walk() {
		o := e.Object
		if o == nil || o.Kind() != h5file.DatasetKind {
			continue
		}
		t.arrays++
		if s.doubtful(o) {
			t.doubtful = append(t.doubtful, e)
		}
		if o.Layout().Class != h5file.Chunked {
			continue
		}
		i, placed := int64(0), indexConfirmed(o)
		for c, err := range o.Chunks() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return t, err
			}
			if raw, _, err := s.chunk(o, c); err != nil && !errors.Is(err, h5.ErrNoFilter) {
				full, _ := o.ChunkBytes()
				t.bad = append(t.bad, lostChunk{e.Path, c, full, i, err})
			} else {
				t.good++
				t.short = t.short || s.reencode
				if err == nil && placed && s.hasValueChecksum(o, c, raw) {
					t.checked++
				}
			}
			i++
		}
	}
	return t, nil
}

// replaceChunks replaces chunks that do not decode with fill values.
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

// checkReplaced checks a file after chunks were replaced in it.
func checkReplaced(ctx context.Context, f *os.File, seen *passes, most int64) (err error) {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s := &source{seen: seen, most: most, in: f, size: info.Size()}
	defer func() { err = errors.Join(err, s.library.close()) }()
	if err := s.check(true); err != nil {
		return err
	}
	if err := s.checkOverlaps(ctx); err != nil {
		return err
	}
	t, err := s.decoded(ctx)
	if err == nil && len(t.bad) > 0 {
		err = t.bad[0].err
	}
	return err
}

// fillChunk replaces a chunk with full bytes of fill values. References become null.
func fillChunk(f *h5.File, path string, c h5file.Chunk, full uint64) (err error) {
	d, err := f.Root().OpenDataset(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil {
		return err
	}
	n := int(format.Size(full))
	values := make([]byte, n)
	for at := 0; info.Datatype.Plain() && at < n; at += info.Datatype.Size {
		copy(values[at:], info.Unwritten())
	}
	raw, mask, err := encoded(info, values)
	if err != nil {
		return err
	}
	at := make([]int64, len(c.Offset))
	for i, x := range c.Offset {
		at[i] = format.Size(x)
	}
	return d.WriteChunk(raw, mask, at...)
}

// encoded returns the stored form of a chunk of a dataset, and its filter mask.
func encoded(info h5.DatasetInfo, values []byte) (raw []byte, mask uint32, err error) {
	p, err := filter.New(info.Filters, filter.Options{})
	if err == nil {
		return p.Encode(make([]byte, p.Bound(len(values))), values)
	}
	one, err := newSample(info.Datatype, info.ChunkShape, info.Filters, info.Fill)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	return one.encode(values)
}

// chunk reads a chunk and decodes it into s.data. If a filter is missing, it returns raw and an
// *h5.FilterError with h5.ErrNoFilter.
func (s *source) chunk(o *h5file.Object, c h5file.Chunk) (raw, values []byte, err error) {
	s.seen.more(int64(min(c.Size, uint64(s.size))))
	s.reencode = false
	l := o.Layout()
	full, ok := o.ChunkBytes()
	if o.Datatype() == nil || len(l.Dims) == 0 || full == 0 {
		return nil, nil, fmt.Errorf("%w: chunks without a datatype or a shape", format.ErrCorrupt)
	}
	if !ok || full > uint64(s.most) || c.Size > uint64(s.most) {
		return nil, nil, fmt.Errorf("%w: chunk: got %d bytes, %d in stored form, want at most %d", format.ErrLimit, full, c.Size, s.most)
	}
	list := h5types.Filters(s.pipeline(o))
	if l.Flags&h5file.PartialChunksUnfiltered != 0 && edge(o, c) {
		list = nil
	}
	if len(list) == 0 && resized(o) {
		if err := s.sizeConfirmed(o, c, full); err != nil {
			return nil, nil, err
		}
		c.Size = full
	}
	if uint64(cap(s.data)) < full {
		s.data = make([]byte, full)
	}
	s.data = s.data[:full]
	if raw, err = s.stored(c); err != nil {
		if longer := s.delimited(list, c, full); longer != nil {
			return longer, s.data, nil
		}
		return raw, nil, err
	}
	if len(list) == 0 {
		if c.Size != full {
			return raw, nil, fmt.Errorf("%w: %d bytes without filters, want %d", format.ErrCorrupt, c.Size, full)
		}
		return raw, raw, nil
	}
	p, err := filter.New(list, filter.Options{})
	if err == nil {
		if err = p.Decode(s.data, raw, c.Mask); err == nil || s.short(p, o, c, raw) {
			return raw, s.data, nil
		}
		if longer := s.delimited(list, c, full); longer != nil {
			return longer, s.data, nil
		}
		return raw, s.data, err
	}
	if t := o.Datatype(); h5check.Decodable(list) && !refers(t) && len(l.Dims) <= h5.MaxRank {
		one, err := s.library.sample(o, list, c.Mask)
		if err != nil {
			return raw, nil, err
		}
		return raw, s.data, one.decode(s.data, raw, c.Mask)
	}
	return raw, nil, err
}

// stored reads the stored bytes of a chunk.
func (s *source) stored(c h5file.Chunk) ([]byte, error) {
	if c.Size > uint64(s.size) {
		return nil, fmt.Errorf("%w: stored chunk: got %d bytes, want at most %d, the size of the file", format.ErrTruncated, c.Size, s.size)
	}
	raw, err := s.file.Read(c.Addr, int64(c.Size))
	if err == nil && uint64(len(raw)) != c.Size {
		err = fmt.Errorf("%w: %d of %d bytes", format.ErrTruncated, len(raw), c.Size)
	}
	return raw, err
}

// short decodes a last chunk that contains only the elements inside the dataset, as some writers
// store it. Only the first dimension may extend beyond the dataset, because the elements are then
// the first ones of the chunk. HDF5 before 2.2 reads such a chunk, and HDF5 2.2 refuses it.
func (s *source) short(p *filter.Pipeline, o *h5file.Object, c h5file.Chunk, raw []byte) bool {
	l, dims := o.Layout(), o.Dataspace().Dims
	if len(dims) == 0 || len(c.Offset) != len(dims) || len(l.Dims) != len(dims)+1 || c.Offset[0] >= dims[0] {
		return false
	}
	for i := 1; i < len(dims); i++ {
		if c.Offset[i] > dims[i] || dims[i]-c.Offset[i] < l.Dims[i] {
			return false
		}
	}
	n := uint64(len(s.data)) / l.Dims[0] * min(l.Dims[0], dims[0]-c.Offset[0])
	if n >= uint64(len(s.data)) || p.Decode(s.data[:n], raw, c.Mask) != nil {
		return false
	}
	clear(s.data[n:])
	s.reencode = true
	return true
}

// delimited decodes a chunk whose stored size is wrong, if the stream of its last filter contains
// its own length. The checksum of deflate, bzip2 or zstd proves that the stream is complete.
// delimited returns nil if no such stream is there, or if it is not valid.
func (s *source) delimited(list []h5.Filter, c h5file.Chunk, full uint64) []byte {
	last := len(list) - 1
	for last >= 0 && c.Mask>>last&1 != 0 {
		last--
	}
	if last < 0 {
		return nil
	}
	at := s.file.Position(c.Addr)
	if at < 0 || at >= s.size {
		return nil
	}
	raw, err := s.file.Read(c.Addr, min(endOf(1<<10, full+full/8), s.size-at))
	if err != nil || zeros(raw) {
		return nil
	}
	raw = stream(list[last].ID, raw)
	p, err := filter.New(list, filter.Options{})
	if raw == nil || err != nil || p.Decode(s.data, raw, c.Mask) != nil {
		return nil
	}
	s.reencode = true
	return raw
}

// stream returns the stream of a filter at the start of b. It returns b for filters whose decoder
// stops at the end of the stream, and nil if the filter's streams do not contain their length.
func stream(id int, b []byte) []byte {
	n := int64(0)
	switch id {
	case h5.FilterDeflate, filter.IDBZip2:
		return b
	case filter.IDBlosc:
		if h, err := chunk.ParseHeader(b); err == nil {
			n = int64(h.CBytes)
		}
	case filter.IDBlosc2:
		if h, err := cframe.ParseHeader(b); err == nil {
			n = h.FrameSize
		}
	case filter.IDZstd:
		n = zstdFrame(b)
	}
	if n <= 0 || n > int64(len(b)) {
		return nil
	}
	return b[:n]
}

// zstdFrame returns the length of the zstd frame at the start of b (RFC 8878, 3.1.1), or 0.
func zstdFrame(b []byte) int64 {
	const magic, raw, compressed = "\x28\xb5\x2f\xfd", 0, 2
	if len(b) <= len(magic) || string(b[:len(magic)]) != magic {
		return 0
	}
	flags := b[len(magic)]
	single := int(flags >> 5 & 1)
	at := len(magic) + 1 + (1 - single) + []int{0, 1, 2, 4}[flags&3] + []int{single, 2, 4, 8}[flags>>6]
	for last := false; !last; {
		if at+3 > len(b) {
			return 0
		}
		block := int(b[at]) | int(b[at+1])<<8 | int(b[at+2])<<16
		last = block&1 != 0
		size := 1 // of a repeated byte
		if kind := block >> 1 & 3; kind == raw || kind == compressed {
			size = block >> 3
		}
		at += 3 + size
	}
	return int64(at) + 4*int64(flags>>2&1)
}

// zeros reports whether b contains only zeros.
func zeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// hasValueChecksum reports whether a filter of a decoded chunk, stored as raw, has compared a
// checksum of its values. Zeros do not count, because Fletcher32 of zeros is zero, and a lost
// sector often reads as zeros.
func (s *source) hasValueChecksum(o *h5file.Object, c h5file.Chunk, raw []byte) bool {
	if zeros(raw) || o.Layout().Flags&h5file.PartialChunksUnfiltered != 0 && edge(o, c) {
		return false
	}
	return summed(h5types.Filters(s.pipeline(o)), c.Mask, raw) && (s.trial != nil || !s.doubtful(o))
}

// pipeline returns the filters with which chunks of o are decoded.
func (s *source) pipeline(o *h5file.Object) *h5file.Pipeline {
	if s.trial != nil {
		return s.trial
	}
	l, _ := leveled(o.Pipeline())
	return l
}

// leveled returns a pipeline in which deflate has a valid level, and reports whether it replaced
// one. libhdf5 compares the level before it decodes, although no decoder needs it.
func leveled(l *h5file.Pipeline) (*h5file.Pipeline, bool) {
	const highest, standard = 9, 6
	if l == nil {
		return nil, false
	}
	wrong := func(f h5file.Filter) bool {
		return int(f.ID) == h5.FilterDeflate && (len(f.Values) != 1 || f.Values[0] > highest)
	}
	if !slices.ContainsFunc(l.Filters, wrong) {
		return l, false
	}
	out := &h5file.Pipeline{Version: l.Version, Filters: slices.Clone(l.Filters)}
	for i := range out.Filters {
		if wrong(out.Filters[i]) {
			out.Filters[i].Values = []uint32{standard}
		}
	}
	return out, true
}

// summed reports whether the decoder of a chunk compares a checksum: Fletcher32, the Adler-32 of
// zlib, the CRC-32 of bzip2, or the XXH64 of a zstd frame, which is optional. raw is the stored
// chunk; nil if other filters follow the list.
func summed(list []h5.Filter, mask uint32, raw []byte) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		switch list[i].ID {
		case h5.FilterFletcher32, h5.FilterDeflate, filter.IDBZip2:
			return true
		case filter.IDZstd:
			const magic, checksum = "\x28\xb5\x2f\xfd", 1 << 2
			if bytes.HasPrefix(raw, []byte(magic)) && len(raw) > len(magic) && raw[len(magic)]&checksum != 0 {
				return true
			}
		}
		raw = nil // the filter that was applied before has another output
	}
	return false
}

// indexConfirmed reports whether the index of a dataset is confirmed: the index has checksums, or
// it contains each chunk of the dataset once and in order. A B-tree of version 1 has no checksums.
func indexConfirmed(o *h5file.Object) bool {
	l, space := o.Layout(), o.Dataspace()
	if l.Index != h5file.BTree1Index {
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

// edge reports whether a chunk extends beyond the edge of the dataset.
func edge(o *h5file.Object, c h5file.Chunk) bool {
	l, space := o.Layout(), o.Dataspace()
	for i, x := range c.Offset {
		if i < len(space.Dims) && x+l.Dims[i] > space.Dims[i] {
			return true
		}
	}
	return false
}

// withContext is a reader that stops when its context ends and counts the bytes in seen.
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

// rewrite makes a new file of everything that can be read.
func (s *source) rewrite(ctx context.Context, path string) (err error) {
	root, err := s.open()
	if err != nil {
		return err
	}
	s.seen.begin(s.size, 0)
	if root == nil {
		if root, err = s.guessRoot(ctx); err != nil {
			return err
		}
	}
	f, err := h5copy.CreateFile(path, h5.CreateOptions{}, dense(root))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s.out = h5copy.NewWriter(f)
	if root != nil {
		s.out.Placed[uint64(root.Addr)] = "/"
		if err := s.group(ctx, "/", f.Root(), root); err != nil {
			return err
		}
	}
	if s.corrupt {
		if err := s.orphans(ctx); err != nil {
			return err
		}
	}
	if err := s.out.Finish(ctx); err != nil {
		return err
	}
	if s.full != nil {
		return s.full
	}
	if s.r.Arrays == 0 && len(s.out.Placed) < 2 {
		return noData("object")
	}
	return nil
}

// open opens the file. If there is no superblock, it substitutes one. The root group is nil if it
// cannot be found.
func (s *source) open() (*h5file.Object, error) {
	f, err := h5file.Open(s.in, s.size, nil)
	if err == nil {
		s.file = f
		if d := f.Driver(); d != nil {
			return nil, fmt.Errorf("%w: a member of a file in several parts (driver %q)", errors.ErrUnsupported, d.ID)
		}
		if err := f.Damage(); err != nil {
			s.corrupt = true
			s.r.note(Certain, "", "superblock", f.UserBlock(), "%v", err)
		}
		root, rerr := f.Root()
		if root != nil && root.Kind() == h5file.GroupKind {
			if rerr != nil {
				s.corrupt = true
				s.r.note(Lost, "/", "object header", format.Size(root.Addr)+f.UserBlock(), "%v", rerr)
			}
			return root, nil
		}
		s.r.note(Lost, "/", "root group", -1, "%v", rerr)
	} else {
		s.r.note(Lost, "", "superblock", 0, "%v", err)
		b := []byte(h5file.Signature + "\x02\x08\x08\x00")
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(h5file.Undefined))
		b = binary.LittleEndian.AppendUint64(b, uint64(s.size))
		b = binary.LittleEndian.AppendUint64(b, 0)
		b = binary.LittleEndian.AppendUint32(b, h5file.Lookup3(b))
		if s.size < int64(len(b)) {
			return nil, noData("object")
		}
		s.in = &overlaid{s.in, b}
		if s.file, err = h5file.Open(s.in, s.size, nil); err != nil {
			return nil, fmt.Errorf("%w: %w", ndarray.ErrCorrupt, err)
		}
	}
	s.corrupt = true
	return nil, nil
}

// counted is a file that counts the bytes that are read from it.
type counted struct {
	r io.ReaderAt
	n *atomic.Int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// overlaid is a file whose first bytes are replaced.
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
