// Compression of responses, and the cache of responses.

package serve

import (
	"bytes"
	"compress/gzip"
	"container/list"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// minPacked is the minimum length of a compressed response in bytes.
const minPacked = 1 << 10

// acceptedEncoding returns "zstd", "gzip" or "". A client on this machine gets no compression,
// because transferring the bytes is faster, unless a proxy forwards its request.
func acceptedEncoding(r *http.Request) string {
	if r.Header.Get("Range") != "" || isLocal(r.RemoteAddr) && r.Header.Get("X-Forwarded-For") == "" {
		return ""
	}
	accepted := map[string]bool{}
	for x := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(x), ";")
		q, given := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		accepted[strings.ToLower(name)] = !given || err == nil && weight > 0
	}
	for _, name := range []string{"zstd", "gzip"} {
		if accepted[name] {
			return name
		}
	}
	return ""
}

// isLocal reports whether an address is that of this machine.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

var packers = sync.Pool{New: func() any {
	// Neither option can fail.
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	return e
}}

// compress returns the compressed body, unless it is not shorter.
func compress(x response, encoding string) ([]byte, bool) {
	if encoding == "" || len(x.Body) < minPacked {
		return nil, false
	}
	var out bytes.Buffer
	switch encoding {
	case "zstd":
		e := packers.Get().(*zstd.Encoder)
		out.Write(e.EncodeAll(x.Body, nil))
		packers.Put(e)
	case "gzip":
		w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			return nil, false
		}
		if _, err := w.Write(x.Body); err != nil || w.Close() != nil {
			return nil, false
		}
	default:
		return nil, false
	}
	return out.Bytes(), out.Len() < len(x.Body)
}

// cache keeps the last responses.
type cache struct {
	limit int64

	mu    sync.Mutex
	used  int64
	order list.List // of cached, the last used one at the front
	tags  map[string]*list.Element
}

type cached struct {
	tag string
	response
	held *share
}

func (c cached) size() int64 { return int64(len(c.Body)) + 256 }

// get returns a response and its share of the memory, which the caller releases.
func (c *cache) get(tag string) (response, *share, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.tags[tag]
	if !ok {
		return response{}, nil, false
	}
	c.order.MoveToFront(e)
	x := e.Value.(cached)
	x.held.hold()
	return x.response, x.held, true
}

// put adds a response with its share of the memory, which the caller also releases. A response that
// takes more than a quarter of the cache is not kept.
func (c *cache) put(tag string, x response, held *share) {
	entry := cached{tag, x, held}
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry.size() > c.limit/4 || c.tags[tag] != nil {
		return
	}
	if c.tags == nil {
		c.tags = make(map[string]*list.Element)
	}
	held.hold()
	c.tags[tag] = c.order.PushFront(entry)
	c.used += entry.size()
	c.shrink(c.limit)
}

// free removes responses of n bytes.
func (c *cache) free(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink(max(c.used-n, 0))
}

// clear removes all responses.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shrink(0)
}

// close removes all responses and keeps no others.
func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = 0
	c.shrink(0)
}

// shrink removes the responses that were not used for the longest time.
func (c *cache) shrink(most int64) {
	for c.used > most {
		oldest := c.order.Remove(c.order.Back()).(cached)
		delete(c.tags, oldest.tag)
		c.used -= oldest.size()
		oldest.held.drop()
	}
}
