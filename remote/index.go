// Index: the metadata of an object, so that opening it needs no request.

package remote

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"math/bits"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/klauspost/compress/zstd"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/grid"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An index file consists of the magic number, frames, a table and a trailer. The frames contain
// frameBytes bytes of the object each, compressed with Zstandard: the contents of the table's
// intervals one after the other. The table contains the identity of the object, the intervals, and
// the compressed sizes of the frames. The trailer contains the offset, size and checksum of the
// compressed table.
const (
	indexMagic   = "HSINDEX1"
	trailerBytes = 8 + 8 + 4 + len(indexMagic)
	frameBytes   = 1 << 20
	unitShift    = 9 // intervals begin and end at multiples of 512 bytes, or at the end of the object
	leastFrame   = 9 // bytes of a frame of Zstandard: magic number, header and a block

	maxTable     = 256 << 20 // bytes of a table
	cachedFrames = 16
)

// ErrIndex means that an index file is corrupt, or belongs to another object.
var ErrIndex = errs.New("invalid index")

// recorder records which parts of an object are read.
type recorder struct {
	mu    sync.Mutex
	units map[int64]uint64 // 64 units each
}

func (r *recorder) add(off, n int64) {
	if r == nil || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for u := off >> unitShift; u <= (off+n-1)>>unitShift; {
		first := u & 63
		count := min(64-first, (off+n-1)>>unitShift-u+1)
		r.units[u>>6] |= (^uint64(0) >> (64 - count)) << first
		u += count
	}
}

// intervals returns offsets and lengths in ascending order, within size bytes.
func (r *recorder) intervals(size int64) (list []interval) {
	r.mu.Lock()
	defer r.mu.Unlock()
	words := make([]int64, 0, len(r.units))
	for w := range r.units {
		words = append(words, w)
	}
	slices.Sort(words)
	at := int64(0) // in the contents
	for _, w := range words {
		for mask := r.units[w]; mask != 0; {
			first := bits.TrailingZeros64(mask)
			count := bits.TrailingZeros64(^(mask >> first))
			mask &^= (^uint64(0) >> (64 - count)) << first
			off := (w<<6 + int64(first)) << unitShift
			n := min(int64(count)<<unitShift, size-off)
			if last := len(list) - 1; last >= 0 && list[last].off+list[last].n == off {
				list[last].n += n
			} else {
				list = append(list, interval{off, n, at})
			}
			at += n
		}
	}
	return list
}

// interval is a part of an object whose content begins at offset at of all contents.
type interval struct{ off, n, at int64 }

// index is an index file that is open.
type index struct {
	file      io.ReaderAt
	closer    io.Closer // of file; nil if it is in an archive
	size      int64
	tag, time string
	url       string
	intervals []interval
	frames    []int64 // offsets in the file; one more than frames
	total     int64   // bytes of contents
	matched   atomic.Pointer[version]

	mu     sync.Mutex
	zstd   *zstd.Decoder           // nil before the first frame
	cached map[int64]*list.Element // of order, by frame
	order  list.List               // of *frame, the most recently used first
}

type frame struct {
	number int64
	data   []byte
}

// covers reports whether the index contains a range.
func (x *index) covers(off, n int64) bool { return x != nil && x.find(off, n) != nil }

func (x *index) find(off, n int64) *interval {
	i, found := slices.BinarySearchFunc(x.intervals, off, func(v interval, off int64) int { return cmp.Compare(v.off, off) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	if v := &x.intervals[i]; off+n <= v.off+v.n {
		return v
	}
	return nil
}

// read fills p from offset off of the object. ok is false if the index does not contain the range.
func (x *index) read(p []byte, off int64) (ok bool, err error) {
	if x == nil || len(p) == 0 {
		return false, nil
	}
	v := x.find(off, int64(len(p)))
	if v == nil {
		return false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for at := v.at + off - v.off; len(p) > 0; {
		f, err := x.frame(at / frameBytes)
		if err != nil {
			return false, err
		}
		n := copy(p, f[at%frameBytes:])
		p, at = p[n:], at+int64(n)
	}
	return true, nil
}

// frame returns a decoded frame. The caller holds the lock.
func (x *index) frame(number int64) ([]byte, error) {
	if e := x.cached[number]; e != nil {
		x.order.MoveToFront(e)
		return e.Value.(*frame).data, nil
	}
	stored := make([]byte, x.frames[number+1]-x.frames[number])
	if _, err := x.file.ReadAt(stored, x.frames[number]); err != nil {
		return nil, fmt.Errorf("%w: frame %d: %w", ErrIndex, number, err)
	}
	if x.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(frameBytes))
		if err != nil {
			return nil, err
		}
		x.zstd = z
	}
	want := min(frameBytes, x.total-number*frameBytes)
	data, err := x.zstd.DecodeAll(stored, make([]byte, 0, want))
	if err != nil || int64(len(data)) != want {
		return nil, fmt.Errorf("%w: frame %d: got %d bytes, want %d (%v)", ErrIndex, number, len(data), want, err)
	}
	x.cached[number] = x.order.PushFront(&frame{number, data})
	if x.order.Len() > cachedFrames {
		last := x.order.Back()
		delete(x.cached, x.order.Remove(last).(*frame).number)
	}
	return data, nil
}

// matches returns ErrChanged if the first blocks of a version are not those of the index.
func (x *index) matches(v *version, blocks [][]byte) error {
	if x == nil {
		return nil
	}
	if v.size != x.size {
		return fmt.Errorf("%w: index: got %d bytes, want %d", ErrChanged, v.size, x.size)
	}
	if x.tag == "" && x.time != "" && x.time != v.time {
		return fmt.Errorf("%w: index: modification time: got %q, want %q", ErrChanged, v.time, x.time)
	}
	for i, data := range blocks {
		if err := x.contains(data, int64(i)); err != nil {
			return err
		}
	}
	return nil
}

// contains returns ErrChanged if a block of the object differs from the index. An index with a
// strong ETag needs no comparison.
func (x *index) contains(data []byte, number int64) error {
	if x == nil || x.tag != "" {
		return nil
	}
	begin, end := number<<blockShift, number<<blockShift+int64(len(data))
	i, _ := slices.BinarySearchFunc(x.intervals, begin, func(v interval, off int64) int { return cmp.Compare(v.off+v.n, off) })
	for ; i < len(x.intervals) && x.intervals[i].off < end; i++ {
		from, to := max(x.intervals[i].off, begin), min(x.intervals[i].off+x.intervals[i].n, end)
		own := make([]byte, to-from)
		if _, err := x.read(own, from); err != nil {
			return err
		}
		if !bytes.Equal(own, data[from-begin:to-begin]) {
			return fmt.Errorf("%w: index: different bytes in the block at offset %d", ErrChanged, begin)
		}
	}
	return nil
}

// outside yields the ranges that the index does not contain.
func (x *index) outside(ranges iter.Seq2[int64, int64]) iter.Seq2[int64, int64] {
	if x == nil {
		return ranges
	}
	return func(yield func(off, n int64) bool) {
		for off, n := range ranges {
			if !x.covers(off, n) && !yield(off, n) {
				return
			}
		}
	}
}

// WriteIndex writes an index of the object at source, a URL or the path of a file, to w. url is the
// URL of the object for readers; "" is source, or none for the path of a file. WriteIndex calls
// read with a client and a URL of the object. The index contains everything that read reads
// through the client, for example the metadata of an HDF5 file with its chunk indexes. Options are
// those of the client. The index does not contain the query of the URL, because it may be secret:
// it is for the URL with any query.
//
// It returns the errors of read, of Client.Open, and of w.
func WriteIndex(ctx context.Context, w io.Writer, source, url string, o *Options, read func(c *Client, url string) error) (err error) {
	c := NewClient(o)
	defer c.CloseIdle()
	at, tagged := source, IsURL(source) && (url == "" || url == source)
	if tagged {
		url = source
	}
	if !IsURL(source) {
		f, err := os.Open(source)
		if err != nil {
			return err
		}
		defer f.Close()
		at = "http://" + localHost + "/" + neturl.PathEscape(filepath.Base(source))
		c.local = &fileTarget{f, at}
	}
	c.recorder = &recorder{units: make(map[int64]uint64)}
	if err := read(c, at); err != nil {
		return err
	}
	rec := c.recorder
	c.recorder = nil
	obj, err := c.Open(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, obj.Close()) }()
	head := &index{url: withoutQuery(url)}
	if tagged {
		head.time = obj.v.time
		if obj.v.strong() {
			head.tag = obj.v.tag
		}
	}
	return writeIndex(w, obj, head, rec.intervals(obj.Size()))
}

// withoutQuery returns a URL whose query, if it has one, is empty.
func withoutQuery(url string) string {
	before, _, found := strings.Cut(url, "?")
	if found {
		before += "?"
	}
	return before
}

// indexForLocked returns the index of a URL, or nil.
func (c *Client) indexForLocked(url string) (*index, error) {
	for _, at := range []string{url, withoutQuery(url)} {
		if x := c.indexOf[at]; x != nil {
			return x, nil
		}
	}
	m := c.members[memberKey(url)]
	if m == nil {
		return nil, nil
	}
	x := m.index.Value()
	if x == nil {
		var err error
		if x, err = m.open(); err != nil {
			return nil, fmt.Errorf("%q of an archive of indexes: %w", m.Name, err)
		}
		m.index = weak.Make(x)
	}
	c.recent[c.opened%len(c.recent)] = x
	c.opened++
	return x, nil
}

// writeIndex writes the parts of an object in list, with the URL and the validators of head.
func writeIndex(w io.Writer, o *Object, head *index, list []interval) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, indexMagic); err != nil {
		return err
	}
	at := int64(len(indexMagic))
	put := func(b []byte) error {
		n, err := w.Write(b)
		at += int64(n)
		return err
	}
	table := binary.AppendUvarint(nil, uint64(o.v.size))
	for _, s := range []string{head.url, head.tag, head.time} {
		table = append(binary.AppendUvarint(table, uint64(len(s))), s...)
	}
	table = binary.AppendUvarint(table, uint64(len(list)))
	end := int64(0)
	var frames []byte
	content, compressed := make([]byte, 0, frameBytes), []byte(nil)
	count := uint64(0)
	flush := func() error {
		if len(content) == 0 {
			return nil
		}
		compressed = z.EncodeAll(content, compressed[:0])
		content = content[:0]
		frames = binary.AppendUvarint(frames, uint64(len(compressed)))
		count++
		return put(compressed)
	}
	for _, v := range list {
		table = binary.AppendUvarint(binary.AppendUvarint(table, uint64(v.off-end)), uint64(v.n))
		end = v.off + v.n
		for off := v.off; off < end; {
			n := min(int64(frameBytes-len(content)), end-off)
			part := content[len(content) : int64(len(content))+n]
			if _, err := o.ReadAt(part, off); err != nil {
				return err
			}
			content = content[:int64(len(content))+n]
			off += n
			if len(content) == frameBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	table = append(binary.AppendUvarint(table, count), frames...)
	compressed = z.EncodeAll(table, nil)
	trailer := binary.LittleEndian.AppendUint64(nil, uint64(at))
	trailer = binary.LittleEndian.AppendUint64(trailer, uint64(len(compressed)))
	trailer = binary.LittleEndian.AppendUint32(trailer, crc32.Checksum(compressed, castagnoli))
	return errors.Join(put(compressed), put(append(trailer, indexMagic...)))
}

// UseIndex makes later calls of Open for a URL use an index file, which stays open until CloseIdle.
// "" is the URL that WriteIndex recorded. Opening needs no request if the index has a strong ETag.
// A change of the object is then detected by the first read that needs a request. Without an
// ETag, the size, the beginning of the object, and each further block that is read are compared
// with the index, as is the modification time if the index was made from the same URL.
//
// The file can also be a ZIP archive of indexes that are not compressed, with the paths of their
// files below a directory. url is then the location of that directory, without a query, and ends in
// a slash; "" is the comment of the archive. An index of it is in memory while an Object of its
// file is open.
//
// It returns ErrIndex for a corrupt file, and for an index of a local file or directory without a
// URL.
func (c *Client) UseIndex(file, url string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", file, err), f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if archived(f) {
		return c.useArchive(f, info.Size(), url)
	}
	x, err := readIndex(f, info.Size())
	if err != nil {
		return err
	}
	if url = cmp.Or(url, withoutQuery(x.url)); url == "" {
		return fmt.Errorf("%w: it was made from a local file, and has no URL", ErrIndex)
	}
	x.closer = f
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes = append(c.indexes, x)
	if c.indexOf == nil {
		c.indexOf = make(map[string]*index)
	}
	c.indexOf[url] = x
	return nil
}

func readIndex(f io.ReaderAt, size int64) (*index, error) {
	bad := func(problem string, got, want any) error {
		return fmt.Errorf("%w: %s: got %v, want %v", ErrIndex, problem, got, want)
	}
	least := int64(len(indexMagic) + trailerBytes)
	if size < least {
		return nil, bad("size", size, "at least "+strconv.FormatInt(least, 10))
	}
	head, trailer := make([]byte, len(indexMagic)), make([]byte, trailerBytes)
	_, err1 := f.ReadAt(head, 0)
	_, err2 := f.ReadAt(trailer, size-int64(trailerBytes))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if end := trailer[trailerBytes-len(indexMagic):]; string(head) != indexMagic || string(end) != indexMagic {
		return nil, bad("magic number", fmt.Sprintf("%q and %q", head, end), indexMagic)
	}
	at, n := binary.LittleEndian.Uint64(trailer), binary.LittleEndian.Uint64(trailer[8:])
	if n > maxTable || at < uint64(len(indexMagic)) || at+n != uint64(size)-uint64(trailerBytes) {
		return nil, bad("table", fmt.Sprintf("%d bytes at %d", n, at), "the bytes before the trailer")
	}
	stored := make([]byte, n)
	if _, err := f.ReadAt(stored, int64(at)); err != nil {
		return nil, err
	}
	if got, want := crc32.Checksum(stored, castagnoli), binary.LittleEndian.Uint32(trailer[16:]); got != want {
		return nil, bad("checksum of the table", got, want)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(tableLimit(at)))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	table, err := z.DecodeAll(stored, nil)
	x := &index{file: f, cached: make(map[int64]*list.Element)}
	if err == nil {
		err = x.parse(bytes.NewReader(table), int64(at))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: table: %w", ErrIndex, err)
	}
	return x, nil
}

// tableLimit returns the maximum size of a table whose frames end at offset end: strings, a size of
// each frame, and two numbers for each interval in it. A small file cannot have a large table.
func tableLimit(end uint64) uint64 {
	const strings, number = 1 << 20, binary.MaxVarintLen64
	frames := end/leastFrame + 1
	return min(strings+frames*(number+2*number*(frameBytes>>unitShift)), maxTable)
}

// parse reads the table of a file whose frames end at offset end.
func (x *index) parse(r *bytes.Reader, end int64) error {
	var failed error
	number := func() int64 {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > 1<<62 {
			failed = cmp.Or(failed, cmp.Or(err, errors.New("number too large")))
			return 0
		}
		return int64(n)
	}
	text := func() string {
		b := make([]byte, min(number(), int64(r.Len())))
		_, err := io.ReadFull(r, b)
		failed = cmp.Or(failed, err)
		return string(b)
	}
	x.size = number()
	x.url, x.tag, x.time = text(), text(), text()
	at := int64(0)
	for range min(number(), int64(r.Len())) {
		off := at + number()
		n := number()
		const unit = 1 << unitShift
		if n <= 0 || off > x.size || n > x.size-off || off%unit != 0 || n%unit != 0 && off+n != x.size {
			return cmp.Or(failed, fmt.Errorf("interval of %d bytes at %d of %d", n, off, x.size))
		}
		if x.total+n > (end/leastFrame+1)*frameBytes {
			return cmp.Or(failed, fmt.Errorf("intervals of more than %d bytes in frames of %d bytes", x.total, end))
		}
		x.intervals = append(x.intervals, interval{off, n, x.total})
		at, x.total = off+n, x.total+n
	}
	count := number()
	if want := grid.DivUp(x.total, frameBytes); failed != nil || count != want {
		return cmp.Or(failed, fmt.Errorf("frames: got %d, want %d", count, want))
	}
	pos := int64(len(indexMagic))
	for range count {
		x.frames = append(x.frames, pos)
		n := number()
		if n < leastFrame || n > end-pos {
			return fmt.Errorf("frame of %d bytes at %d, want %d to %d", n, pos, leastFrame, end-pos)
		}
		pos += n
	}
	x.frames = append(x.frames, pos)
	return failed
}

// close closes the file.
func (x *index) close() error {
	if x.zstd != nil {
		x.zstd.Close()
	}
	if x.closer == nil {
		return nil
	}
	return x.closer.Close()
}

// localHost is the host of the URL of a local file in WriteIndex.
const localHost = "file.invalid"

// fileTarget answers requests from a local file.
type fileTarget struct {
	f   *os.File
	url string
}

func (t *fileTarget) send(r *http.Request) (*http.Response, error) {
	info, err := t.f.Stat()
	if err != nil {
		return nil, err
	}
	var first, last int64
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
		return nil, err
	}
	h := &http.Response{StatusCode: http.StatusPartialContent, Header: make(http.Header), Request: r}
	h.Header.Set("ETag", fmt.Sprintf(`"%d-%d"`, info.ModTime().UnixNano(), info.Size()))
	if first >= info.Size() {
		h.StatusCode, h.Body = http.StatusRequestedRangeNotSatisfiable, http.NoBody
		h.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", info.Size()))
		return h, nil
	}
	last = min(last, info.Size()-1)
	h.ContentLength = last - first + 1
	h.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, info.Size()))
	h.Body = io.NopCloser(io.NewSectionReader(t.f, first, h.ContentLength))
	return h, nil
}
