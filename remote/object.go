// Object: reads of ranges through the cache.

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// Object is an open remote object.
type Object struct {
	c     *Client
	v     *version
	count counters
	disk  *diskObject // nil: none
	index *index      // nil: none

	ctx  context.Context // until Close
	stop context.CancelCauseFunc
	busy sync.WaitGroup // goroutines of requests

	changed atomic.Bool

	mu     sync.Mutex
	closed bool
	end    int64 // block after the last demanded one
	window int64 // blocks of the next demand request
}

var _ io.ReaderAt = (*Object)(nil)

func (o *Object) start(url string, v *version) (err error) {
	o.v = v
	o.ctx, o.stop = context.WithCancelCause(context.Background())
	o.window = firstWindow
	o.disk, err = o.c.disk.object(url, v)
	return err
}

// Size returns the size of the object in bytes.
func (o *Object) Size() int64 { return o.v.size }

// ETag returns the ETag of the object as the server sent it, or "".
func (o *Object) ETag() string { return o.v.tag }

// Indexed reports whether the object is read with an index file; see Client.UseIndex.
func (o *Object) Indexed() bool { return o.index != nil }

// Close stops all requests of the handle. Active reads return ErrClosed. Blocks stay in the cache.
func (o *Object) Close() error {
	o.mu.Lock()
	again := o.closed
	o.closed = true
	o.mu.Unlock()
	o.stop(ErrClosed)
	o.busy.Wait()
	if again {
		return nil
	}
	return o.disk.close()
}

// background runs f, unless the handle is closed.
func (o *Object) background(f func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.busy.Go(f)
	return true
}

// Blocks of a demand request. It begins with firstWindow blocks, and doubles as long as reads are
// sequential.
const (
	firstWindow = 4
	maxRun      = 64  // blocks of one request: 4 MiB
	gap         = 4   // missing blocks between two ranges that one request also reads
	longRead    = 128 // blocks of a read that is fetched in parallel
)

// ReadAt reads len(p) bytes from offset off. It returns io.EOF at the end of the object,
// ErrChanged, ErrClosed, ErrLimit, ErrResponse or an error of the network.
func (o *Object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fail("read", o.v.shown, fmt.Errorf("%w: offset %d", errNegative, off))
	}
	wanted := int64(len(p))
	if off >= o.v.size {
		if wanted == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	p = p[:min(wanted, o.v.size-off)]
	o.c.recorder.add(off, int64(len(p)))
	if ok, err := o.index.read(p, off); err != nil {
		return 0, fail("read", o.v.shown, err)
	} else if ok && o.usable() == nil {
		if int64(len(p)) < wanted {
			return len(p), io.EOF
		}
		return len(p), nil
	}
	n, err := o.read(p, off)
	if err != nil {
		return n, fail("read", o.v.shown, err)
	}
	if int64(n) < wanted {
		return n, io.EOF
	}
	return n, nil
}

var errNegative = errors.New("negative offset")

func (o *Object) read(p []byte, off int64) (n int, err error) {
	first, last := off>>blockShift, (off+int64(len(p))-1)>>blockShift
	if len(p) == 0 {
		return 0, nil
	}
	if last-first >= longRead {
		defer o.Prefetch(o.ctx, func(yield func(off, n int64) bool) { yield(off, int64(len(p))) })()
	}
	for at := first; at <= last; at++ {
		if err := o.usable(); err != nil {
			return n, err
		}
		b := o.demand(at, min(last, at+maxRun-1))
		data, err := o.wait(b)
		if err != nil {
			return n, err
		}
		skip := max(off-at<<blockShift, 0)
		n += copy(p[n:], data[skip:])
	}
	return n, nil
}

// usable returns the reason why the handle cannot be read any more.
func (o *Object) usable() error {
	if o.changed.Load() {
		return ErrChanged
	}
	return context.Cause(o.ctx)
}

// demand returns the block at a number, which may be in the process of being fetched. If it is
// missing, a request also reads the missing blocks up to last, and some after it.
func (o *Object) demand(at, last int64) *block {
	b, mine := o.c.cache.claim(key{o.v, at})
	if !mine {
		select {
		case <-b.ready:
			o.hit()
		default:
			o.miss()
		}
		return b
	}
	o.miss()
	o.mu.Lock()
	if at == o.end && at > 0 {
		o.window = min(2*o.window, maxRun)
	} else {
		o.window = firstWindow
	}
	last = min(max(last, at+o.window-1), o.blocks()-1)
	run := []*block{b}
	for n := at + 1; n <= last; n++ {
		next, mine := o.c.cache.claim(key{o.v, n})
		if !mine {
			break
		}
		run = append(run, next)
	}
	o.end = at + int64(len(run))
	o.mu.Unlock()
	o.begin(run)
	return b
}

func (o *Object) miss() {
	o.count.misses.Add(1)
	o.c.count.misses.Add(1)
	meter.CacheMisses.Add(1)
}

func (o *Object) hit() {
	o.count.hits.Add(1)
	o.c.count.hits.Add(1)
	meter.CacheHits.Add(1)
}

// blocks returns the number of blocks of the object.
func (o *Object) blocks() int64 { return (o.v.size + blockSize - 1) >> blockShift }

// wait waits until a block is ready. A block that another handle failed to fetch is fetched again.
func (o *Object) wait(b *block) ([]byte, error) {
	for {
		select {
		case <-b.ready:
		default:
			since := time.Now()
			select {
			case <-b.ready:
			case <-o.ctx.Done():
				return nil, context.Cause(o.ctx)
			}
			waited := int64(time.Since(since))
			o.count.waited.Add(waited)
			o.c.count.waited.Add(waited)
		}
		if b.err == nil {
			o.c.cache.used(b)
			return b.data, nil
		}
		if !errors.Is(b.err, ErrClosed) && !errors.Is(b.err, ErrLimit) || o.usable() != nil || o.overLimit() {
			return nil, b.err
		}
		b = o.demand(b.number, b.number)
	}
}

// overLimit reports whether the handle may send no further request.
func (o *Object) overLimit() bool {
	return o.count.requests.Load() >= o.c.o.MaxRequests || o.count.bytes.Load() >= o.c.o.MaxBytes
}

// begin fetches the claimed blocks of a run in the background.
func (o *Object) begin(run []*block) {
	if o.background(func() { o.fetch(run) }) {
		return
	}
	for _, b := range run {
		o.c.cache.failed(b, ErrClosed)
	}
}

// fetch fetches the claimed blocks of a run.
func (o *Object) fetch(run []*block) {
	if run = o.stored(run); len(run) == 0 {
		return
	}
	slots := o.c.slots
	if len(run) <= shortRun {
		slots = o.c.short
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-o.ctx.Done():
	}
	err := o.repeat(o.ctx, func() error {
		if err := o.usable(); err != nil {
			return err
		}
		rest, err := o.fetchOnce(run)
		run = rest
		return err
	})
	if err == nil {
		return
	}
	if cause := context.Cause(o.ctx); cause != nil {
		err = cause
	}
	if errors.Is(err, ErrChanged) {
		o.changed.Store(true)
		o.c.forget(o.v)
	}
	for _, b := range run {
		o.c.cache.failed(b, err)
	}
}

// stored reads blocks of a run from the disk cache. It returns the first consecutive blocks that
// are missing, and begins to fetch other missing ones.
func (o *Object) stored(run []*block) (missing []*block) {
	if o.disk == nil {
		return run
	}
	var runs [][]*block
	for i, b := range run {
		data := make([]byte, min(blockSize, o.v.size-b.number<<blockShift))
		if o.disk.read(data, b.number) {
			o.count.diskHits.Add(1)
			o.c.count.diskHits.Add(1)
			o.c.cache.done(b, data)
			continue
		}
		if last := len(runs) - 1; i > 0 && last >= 0 && runs[last][len(runs[last])-1] == run[i-1] {
			runs[last] = append(runs[last], b)
		} else {
			runs = append(runs, []*block{b})
		}
	}
	if len(runs) == 0 {
		return nil
	}
	for _, other := range runs[1:] {
		o.begin(other)
	}
	return runs[0]
}

// store stores a block in the disk cache. The cache is optional, so that an error only counts.
func (o *Object) store(number int64, data []byte) {
	if err := o.disk.write(data, number); err != nil {
		o.count.diskErrors.Add(1)
		o.c.count.diskErrors.Add(1)
	}
}

// fetchOnce sends one request for a run, and returns the blocks that are still missing.
func (o *Object) fetchOnce(run []*block) ([]*block, error) {
	off := run[0].number << blockShift
	n := min((run[len(run)-1].number+1)<<blockShift, o.v.size) - off
	h, body, done, err := o.get(o.ctx, off, n)
	if err != nil {
		return run, err
	}
	defer done()
	if body, err = page(h, body); err == nil {
		err = o.v.check(h, body, off, n)
	}
	if err != nil {
		return run, err
	}
	return o.blocksOf(run, body)
}

// blocksOf reads the blocks of a run from a response, and returns those that are still missing.
func (o *Object) blocksOf(run []*block, body io.Reader) ([]*block, error) {
	for len(run) > 0 {
		next := run[0].number
		data := make([]byte, min(blockSize, o.v.size-next<<blockShift))
		if _, err := io.ReadFull(body, data); err != nil {
			return run, truncated(err)
		}
		if err := o.index.contains(data, next); err != nil {
			return run, err
		}
		o.store(next, data)
		o.c.cache.done(run[0], data)
		run = run[1:]
	}
	return nil, nil
}

// plan limits the blocks that a Prefetch fetches before they are read.
type plan struct {
	mu    sync.Mutex
	free  int           // blocks that may be fetched
	woken chan struct{} // receives after release; capacity 1
}

// release is called once for each block that was read, evicted or failed.
func (p *plan) release() {
	p.mu.Lock()
	p.free++
	p.mu.Unlock()
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// take takes the place of a block if n places are free.
func (p *plan) take(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free < n {
		return false
	}
	p.free--
	return true
}

// Prefetch begins to fetch ranges, each an offset and a length in bytes, in the order in which they
// will be read. Neighbouring ranges are merged into requests of up to 4 MiB. At most a quarter of
// the cache is fetched before it is read. Errors are returned by the reads.
//
// Prefetch may call ranges in another goroutine after it returned. The caller calls stop when it
// needs no further range. The end of ctx stops Prefetch as well.
func (o *Object) Prefetch(ctx context.Context, ranges iter.Seq2[int64, int64]) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	most := int(max(min(o.c.o.Cache, max(budget.Limit()/2, cacheLeast))/4/blockSize, 1))
	u := &pump{o: o, ctx: ctx, p: &plan{free: most, woken: make(chan struct{}, 1)}, batch: min(maxRun, max(most/4, 1))}
	next, end := iter.Pull2(o.index.outside(ranges))
	// The first ranges are requested before the caller reads, because otherwise its reads would
	// send requests for parts of them.
	if u.run(next, false) {
		end()
		return cancel
	}
	done := make(chan struct{})
	if !o.background(func() { defer close(done); defer end(); u.run(next, true) }) {
		end()
		return cancel
	}
	return func() { cancel(); <-done } // afterwards ranges is not called any more
}

// pump fetches the missing blocks of ranges for a Prefetch.
type pump struct {
	o        *Object
	ctx      context.Context
	p        *plan
	batch    int      // places that must be free before a request, so that requests are long
	pending  []*block // consecutive blocks of the next request
	off, end int64    // blocks of the current range that are left
}

// flush sends a request for the pending blocks.
func (u *pump) flush() {
	if len(u.pending) > 0 {
		u.o.begin(u.pending)
		u.pending = nil
	}
}

// run requests blocks until the ranges end and then returns true. Without wait it returns false if
// the reader must proceed first.
func (u *pump) run(next func() (off, n int64, ok bool), wait bool) bool {
	o := u.o
	for {
		for ; u.off < u.end; u.off++ {
			k := key{o.v, u.off}
			if o.c.cache.has(k) {
				continue
			}
			if len(u.pending) > 0 && !o.bridge(&u.pending, u.off) {
				u.flush()
			}
			if !u.reserve(wait) {
				u.flush()
				return u.over()
			}
			b, mine := o.c.cache.claimFor(k, u.p)
			if !mine {
				u.p.release()
				continue
			}
			u.pending = append(u.pending, b)
		}
		if u.over() {
			u.flush()
			return true
		}
		off, n, ok := next()
		if !ok {
			u.flush()
			return true
		}
		off = max(off, 0)
		if n = min(n, o.v.size-off); n > 0 {
			u.off, u.end = off>>blockShift, (off+n-1)>>blockShift+1
		}
	}
}

// over reports whether no more block may be fetched.
func (u *pump) over() bool { return u.ctx.Err() != nil || u.o.ctx.Err() != nil }

// reserve takes the place of a block. It returns false if there is none, or with wait if the
// Prefetch was stopped.
func (u *pump) reserve(wait bool) bool {
	if len(u.pending) > 0 && !u.over() {
		if u.p.take(1) {
			return true
		}
		u.flush()
	}
	for !u.over() {
		if u.p.take(u.batch) {
			return true
		}
		if !wait {
			return false
		}
		select {
		case <-u.p.woken:
		case <-u.ctx.Done():
		case <-u.o.ctx.Done():
		}
	}
	return false
}

// bridge extends a run to the block before number at, if the request stays short and no block
// between them is in the cache.
func (o *Object) bridge(run *[]*block, at int64) bool {
	first, next := (*run)[0].number, (*run)[len(*run)-1].number+1
	if at < next || at-next >= gap || at-first >= maxRun {
		return false
	}
	for ; next < at; next++ {
		b, mine := o.c.cache.claim(key{o.v, next})
		if !mine {
			return false
		}
		*run = append(*run, b)
	}
	return true
}
