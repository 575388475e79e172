// Object: reads of ranges through the cache.

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Object is an open remote object.
type Object struct {
	c     *Client
	v     *version
	count counters

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

func (o *Object) start(v *version) {
	o.v = v
	o.ctx, o.stop = context.WithCancelCause(context.Background())
	o.window = firstWindow
}

// Size returns the size of the object in bytes.
func (o *Object) Size() int64 { return o.v.size }

// ETag returns the ETag of the object as the server sent it, or "".
func (o *Object) ETag() string { return o.v.tag }

// URL returns the URL of the object without query.
func (o *Object) URL() string { return o.v.shown }

// Stats returns the counters of the handle.
func (o *Object) Stats() Stats { return o.count.stats() }

// Close stops all requests of the handle. Active reads return ErrClosed. Blocks stay in the cache.
func (o *Object) Close() error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.stop(ErrClosed)
	o.busy.Wait()
	return nil
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
		defer o.Prefetch(o.ctx, [][2]int64{{off, int64(len(p))}})()
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
			o.count.hits.Add(1)
			o.c.count.hits.Add(1)
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
	select {
	case o.c.slots <- struct{}{}:
		defer func() { <-o.c.slots }()
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

// fetchOnce sends one request for a run, and returns the blocks that are still missing.
func (o *Object) fetchOnce(run []*block) ([]*block, error) {
	off := run[0].number << blockShift
	n := min((run[len(run)-1].number+1)<<blockShift, o.v.size) - off
	h, body, done, err := o.get(o.ctx, off, n)
	if err != nil {
		return run, err
	}
	defer done()
	if err := o.v.check(h, body, off, n); err != nil {
		return run, err
	}
	next := run[0].number
	for ; len(run) > 0; next++ {
		data := make([]byte, min(blockSize, o.v.size-next<<blockShift))
		if _, err := io.ReadFull(body, data); err != nil {
			return run, truncated(err)
		}
		o.c.cache.done(run[0], data)
		run = run[1:]
	}
	return nil, nil
}

// plan limits the blocks that a Prefetch fetches before they are read.
type plan struct{ slots chan struct{} }

// release is called once for each block that was read, evicted or failed.
func (p *plan) release() { <-p.slots }

// Prefetch begins to fetch ranges, each an offset and a length in bytes, in the order in which they
// will be read. Neighbouring ranges are merged into requests of up to 4 MiB. At most a quarter of
// the cache is fetched before it is read. Errors are returned by the reads.
//
// The caller calls stop when it needs no further range. The end of ctx stops Prefetch as well.
func (o *Object) Prefetch(ctx context.Context, ranges [][2]int64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	p := &plan{make(chan struct{}, max(o.c.o.Cache/4/blockSize, 1))}
	o.background(func() { o.pump(ctx, p, ranges) })
	return cancel
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

// pump fetches the missing blocks of ranges.
func (o *Object) pump(ctx context.Context, p *plan, ranges [][2]int64) {
	var run []*block // consecutive blocks
	flush := func() {
		if len(run) > 0 {
			o.begin(run)
			run = nil
		}
	}
	defer flush()
	for _, r := range ranges {
		off := max(r[0], 0)
		end := min(r[1], o.v.size-off)
		if end <= 0 {
			continue
		}
		first, last := off>>blockShift, (off+end-1)>>blockShift
		for at := first; at <= last; at++ {
			k := key{o.v, at}
			if o.c.cache.has(k) {
				continue
			}
			if len(run) > 0 && !o.bridge(&run, at) {
				flush()
			}
			select {
			case p.slots <- struct{}{}:
			default: // the reader must proceed first, and needs the blocks of this run
				flush()
				select {
				case p.slots <- struct{}{}:
				case <-ctx.Done():
					return
				case <-o.ctx.Done():
					return
				}
			}
			if ctx.Err() != nil || o.ctx.Err() != nil {
				p.release()
				return
			}
			b, mine := o.c.cache.claimFor(k, p)
			if !mine {
				p.release()
				continue
			}
			run = append(run, b)
		}
	}
}
