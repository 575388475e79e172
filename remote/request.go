// One range request, and its repetition.

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// target makes the requests for an object.
type target interface {
	// send sends a request, which must not have a URL yet.
	send(r *http.Request) (*http.Response, error)
}

// webTarget is an object with an http or https URL.
type webTarget struct {
	c   *Client
	url string
}

func (t *webTarget) send(r *http.Request) (*http.Response, error) {
	u, err := parse(t.url)
	if err != nil {
		return nil, err
	}
	r.URL, r.Host = u, u.Host
	if err := t.c.o.authorize(r); err != nil {
		return nil, err
	}
	return t.c.web.Do(r)
}

func (c *Client) target(location string) (target, error) {
	u, err := parse(location)
	if err != nil {
		return nil, err
	}
	if c.local != nil && c.local.url == location {
		return c.local, nil
	}
	if u.Scheme == "s3" {
		return c.s3.target(c, u)
	}
	return &webTarget{c, location}, nil
}

// perTimeout are the bytes of a body for which a request gets another timeout.
const perTimeout = 4 << 20

// get requests n bytes from offset off. The body contains exactly the range, unless it is
// truncated. The caller calls close, which also ends the timeout.
func (o *Object) get(ctx context.Context, off, n int64) (h *http.Response, body io.Reader, done func(), err error) {
	c := o.c
	if got := o.count.requests.Add(1); got > c.o.MaxRequests {
		return nil, nil, nil, fmt.Errorf("%w: more than %d requests", ErrLimit, c.o.MaxRequests)
	}
	c.requested()
	limit := c.o.Timeout * time.Duration(1+n/perTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: no complete answer in %v", errTimeout, limit))
	defer func() {
		if err != nil {
			if cause := context.Cause(ctx); errors.Is(cause, errTimeout) {
				err = cause
			}
			cancel()
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "", nil)
	if err != nil {
		return nil, nil, nil, err
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+n-1))
	r.Header.Set("User-Agent", "hyperslab")
	if o.v.strong() {
		r.Header.Set("If-Match", o.v.tag)
	}
	h, err = o.v.target.send(r)
	if err != nil {
		return nil, nil, nil, cleaned(err)
	}
	done = func() {
		// Read the end of the body, so that the connection can be used again.
		_, _ = io.CopyN(io.Discard, h.Body, 1)
		_ = h.Body.Close()
		cancel()
	}
	return h, &counted{ctx, h.Body, o}, done, nil
}

// errTimeout means that a request took too long.
var errTimeout = errors.New("request timed out")

// cleaned returns an error of net/http without the URL, whose query may contain credentials.
func cleaned(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// counted counts the bytes of a body, and enforces Options.MaxBytes.
type counted struct {
	ctx context.Context
	r   io.Reader
	o   *Object
}

func (b *counted) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.o.c.count.bytes.Add(int64(n))
	meter.RequestBytes.Add(int64(n))
	if over := b.o.count.bytes.Add(int64(n)) - b.o.c.o.MaxBytes; over > 0 {
		// io.ReadFull drops an error that comes with the last byte, so withhold at least one.
		return n - int(min(over, int64(n))), fmt.Errorf("%w: more than %d bytes received", ErrLimit, b.o.c.o.MaxBytes)
	}
	if cause := context.Cause(b.ctx); err != nil && errors.Is(cause, errTimeout) {
		err = cause
	}
	return n, err
}

// problem returns the error of a response without content, with up to 4 KiB of its body.
func problem(h *http.Response, body io.Reader) error {
	e := &statusError{status: h.StatusCode, after: retryAfter(h)}
	text := ""
	if strings.Contains(h.Header.Get("Content-Type"), "xml") { // of S3
		b, _ := io.ReadAll(io.LimitReader(body, 4<<10)) // a part is enough for the code
		text = string(b)
		if _, rest, found := strings.Cut(text, "<Code>"); found {
			if code, _, found := strings.Cut(rest, "</Code>"); found && len(code) < 100 && !strings.ContainsFunc(code, func(c rune) bool { return c < 'A' || c > 'z' }) {
				e.text = code
			}
		}
	}
	e.reason = expired(h, text)
	return e
}

// contentRange parses "bytes 0-99/1000", or "bytes */1000" with first -1.
func contentRange(s string) (first, last, size int64, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimSpace(s), "bytes ")
	span, total, found := strings.Cut(s, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if !ok || !found || err != nil || size < 0 {
		return 0, 0, 0, false
	}
	if span == "*" {
		return -1, -1, size, true
	}
	a, b, found := strings.Cut(span, "-")
	first, err1 := strconv.ParseInt(a, 10, 64)
	last, err2 := strconv.ParseInt(b, 10, 64)
	return first, last, size, found && err1 == nil && err2 == nil && 0 <= first && first <= last && last < size
}

// check compares the response to a range request with the range and the version.
func (v *version) check(h *http.Response, body io.Reader, off, n int64) error {
	switch {
	case h.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		if _, _, size, ok := contentRange(h.Header.Get("Content-Range")); ok && size != v.size {
			return fmt.Errorf("%w: size: got %d bytes, want %d", ErrChanged, size, v.size)
		}
		return problem(h, body)
	case h.StatusCode != http.StatusPartialContent && h.StatusCode != http.StatusOK:
		return problem(h, body)
	case h.Header.Get("Content-Encoding") != "" && h.Header.Get("Content-Encoding") != "identity":
		return fmt.Errorf("%w: content encoding: got %q, want none", ErrResponse, h.Header.Get("Content-Encoding"))
	}
	if err := v.same(h.Header); err != nil {
		return err
	}
	if h.StatusCode == http.StatusOK {
		if h.ContentLength >= 0 && h.ContentLength != v.size {
			return fmt.Errorf("%w: size: got %d bytes, want %d", ErrChanged, h.ContentLength, v.size)
		}
		if off == 0 && n == v.size && h.ContentLength == n {
			return nil
		}
		return fmt.Errorf("%w: the server ignores the range of a request", ErrResponse)
	}
	first, last, size, ok := contentRange(h.Header.Get("Content-Range"))
	switch {
	case ok && size != v.size:
		return fmt.Errorf("%w: size: got %d bytes, want %d", ErrChanged, size, v.size)
	case !ok || first != off || last != off+n-1:
		return fmt.Errorf("%w: range: got %q, want bytes %d-%d/%d", ErrResponse, h.Header.Get("Content-Range"), off, off+n-1, v.size)
	case h.ContentLength >= 0 && h.ContentLength != n:
		return fmt.Errorf("%w: body: got %d bytes, want %d", ErrResponse, h.ContentLength, n)
	}
	return nil
}

// probe requests the beginning of the object, or with whole all of it if it is small. It returns
// the version, the first blocks, and the rest of the response if that is needed.
func (o *Object) probe(ctx context.Context, whole bool) (v *version, blocks [][]byte, r *rest, err error) {
	wanted := int64(firstRead)
	if whole {
		wanted = readahead.SmallFile
	}
	err = o.repeat(ctx, func() error {
		bodyCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		h, body, done, err := o.get(bodyCtx, 0, wanted)
		if err != nil {
			cancel()
			return cmp.Or(context.Cause(ctx), err)
		}
		r = &rest{body, done, cancel}
		v, blocks, err = o.firstBlocks(h, body, wanted)
		if err = cmp.Or(context.Cause(ctx), err); err != nil || v.size <= firstRead || v.size > wanted {
			r.end()
			r = nil
		}
		return err
	})
	return v, blocks, r, err
}

// firstBlocks reads the version and the first blocks from the response to the first request, which
// is one for wanted bytes.
func (o *Object) firstBlocks(h *http.Response, body io.Reader, wanted int64) (*version, [][]byte, error) {
	v := &version{target: o.v.target, shown: o.v.shown, tag: h.Header.Get("ETag"), time: h.Header.Get("Last-Modified"), seen: time.Now()}
	n := h.ContentLength
	body, err := page(h, body)
	if err != nil {
		return nil, nil, err
	}
	switch h.StatusCode {
	case http.StatusPartialContent:
		_, last, size, ok := contentRange(h.Header.Get("Content-Range"))
		if !ok {
			return nil, nil, fmt.Errorf("%w: range: got %q, want bytes 0-%d", ErrResponse, h.Header.Get("Content-Range"), wanted-1)
		}
		v.size, n = size, min(wanted, size)
		if last != n-1 {
			return nil, nil, fmt.Errorf("%w: range: got %q, want bytes 0-%d/%d", ErrResponse, h.Header.Get("Content-Range"), n-1, size)
		}
	case http.StatusOK: // servers may answer so if the range covers the object
		if v.size = n; n < 0 || n > wanted {
			return nil, nil, fmt.Errorf("%w: the server does not support range requests", ErrResponse)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if h.Header.Get("Accept-Ranges") == "none" { // for example of a lazy expression on a Caterva2 server
			return nil, nil, fmt.Errorf("%w: %w: the server computes the object, and has no ranges of it (Accept-Ranges: none)", ErrResponse, errors.ErrUnsupported)
		}
		if _, _, size, ok := contentRange(h.Header.Get("Content-Range")); !ok || size != 0 {
			return nil, nil, problem(h, body)
		}
		v.classify(h.Header, nil)
		return v, nil, nil
	default:
		return nil, nil, problem(h, body)
	}
	if err := v.check(h, body, 0, n); err != nil {
		return nil, nil, err
	}
	var blocks [][]byte
	for n = min(n, firstRead); n > 0; n -= blockSize {
		b := make([]byte, min(n, blockSize))
		if _, err := io.ReadFull(body, b); err != nil {
			return nil, nil, truncated(err)
		}
		blocks = append(blocks, b)
	}
	v.classify(h.Header, blocks)
	return v, blocks, nil
}

// truncated marks the error of a body that ends early.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: truncated body: %w", ErrResponse, io.ErrUnexpectedEOF)
	}
	return err
}

// Delays between attempts: the maximum doubles from the first to the last.
const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 5 * time.Second
)

// repeat is Client.repeat for the requests of a handle.
func (o *Object) repeat(ctx context.Context, f func() error) error {
	return o.c.repeat(ctx, &o.count, f)
}

// repeat calls f until it succeeds, fails for good or was repeated Options.Retries times. It counts
// repetitions for the client, and for a handle unless count is nil.
func (c *Client) repeat(ctx context.Context, count *counters, f func() error) error {
	most := firstDelay
	for n := 0; ; n++ {
		err := f()
		if err == nil || n >= c.o.Retries || !transient(err) || ctx.Err() != nil {
			return err
		}
		after := time.Duration(0)
		if status, ok := errors.AsType[*statusError](err); ok {
			if after = status.after; after > c.o.Timeout {
				return fmt.Errorf("%w: the server asks to wait %v, longer than the timeout of %v", err, after, c.o.Timeout)
			}
		}
		wait := time.NewTimer(max(after, most/2) + rand.N(most/2))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
		most = min(2*most, lastDelay)
		if count != nil {
			count.retries.Add(1)
		}
		c.count.retries.Add(1)
	}
}
