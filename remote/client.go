// Client, its options and the versions of the objects that it knows.

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"
)

// Options are the options of NewClient. The zero value means the defaults.
type Options struct {
	// AllowPrivate allows addresses in private ranges, for example 127.0.0.1 and 10.0.0.0/8. The
	// endpoint of AWS_ENDPOINT_URL is allowed without it.
	AllowPrivate bool

	// Parallel is the maximum number of requests at the same time; default 16, and then also 64 of
	// at most 128 KiB, whose time is that of the latency.
	Parallel int

	Timeout time.Duration // of a request until its first byte, and for each 4 MiB of its body; default 30 s
	Retries int           // maximum number of repetitions of a failed request; default 4, negative: none
	Cache   int64         // maximum bytes of the block cache, within ndarray.SetReadMemory; default 256 MiB, at least 16 MiB

	// CacheDir is the directory of a disk cache, which Open creates. Programs may share it. It
	// holds blocks of objects with a strong ETag. "" means no disk cache. Open returns an error if
	// the directory cannot be used. Blocks that cannot be stored later count in Stats.DiskErrors.
	CacheDir  string
	DiskCache int64 // maximum bytes of CacheDir when an object is opened; default 16 GiB

	// CacheKey authenticates the blocks in CacheDir, so that another user who can write to the
	// directory cannot change the bytes of a read. Programs with the same key share blocks. nil:
	// the key in the file hyperslab/cache.key of the user's configuration directory
	// (os.UserConfigDir), which Open creates.
	CacheKey []byte

	// RefuseUnverified makes Open return ErrUnverified for an object whose changes cannot be
	// detected. OnUnverified is called for such an object otherwise, once for each URL and once for
	// each directory of FS, possibly from several goroutines at the same time. Its argument is the
	// *Error that Open returns with RefuseUnverified. Nil means that only Stats.Unverified counts.
	RefuseUnverified bool
	OnUnverified     func(err error)

	// Transport makes the requests, for example one that counts or traces them. It then decides
	// which addresses are allowed, and AllowPrivate has no effect. Nil: a transport of the client.
	Transport http.RoundTripper

	// Header are further headers of each request to the host of an http or https URL. A redirect to
	// another host does not get them.
	Header http.Header

	// Authorization returns the header Authorization of a request to an http or https URL, for
	// example "Bearer " and a token, or "" for none. It is called for each request, and for each
	// redirect with the new URL, from several goroutines at the same time. The client then also
	// keeps cookies. Nil: no such header. Netrc returns a function for it. S3 has its own
	// credentials.
	Authorization func(ctx context.Context, u *url.URL) (string, error)

	// Limits of a handle.
	MaxSize     int64 // bytes of an object; default 64 TiB
	MaxRequests int64 // requests, with retries; default 1,000,000
	MaxBytes    int64 // received bytes; default 1 TiB
}

const (
	defaultParallel = 16
	shortParallel   = 64 // short requests at the same time
	shortRun        = 2  // blocks of a short request
)

func (o *Options) filled() Options {
	f := *o
	f.Parallel = cmp.Or(max(f.Parallel, 0), defaultParallel)
	f.Timeout = cmp.Or(max(f.Timeout, 0), 30*time.Second)
	f.Retries = cmp.Or(f.Retries, 4)
	f.Cache = max(cmp.Or(f.Cache, 256<<20), 16<<20)
	f.DiskCache = cmp.Or(f.DiskCache, 16<<30)
	f.MaxSize = cmp.Or(f.MaxSize, 64<<40)
	f.MaxRequests = cmp.Or(f.MaxRequests, 1_000_000)
	f.MaxBytes = cmp.Or(f.MaxBytes, 1<<40)
	return f
}

// Client opens objects. Its handles share a block cache and connections.
type Client struct {
	o     Options
	cache *cache
	disk  *disk // nil: none
	web   *http.Client
	slots chan struct{} // of Parallel requests
	short chan struct{} // of short requests; equal to slots if the program set Parallel
	s3    s3Account
	count counters

	local    *fileTarget // the object of WriteIndex; nil: none
	recorder *recorder   // nil unless WriteIndex records

	mu       sync.Mutex
	indexes  []*index            // open index files
	indexOf  map[string]*index   // by URL
	members  map[string]*member  // of archives of indexes, by URL; indexOf takes precedence
	archives []*os.File          // their files
	recent   [4]*index           // of archives, so that the next Object of the same file has its index
	opened   int                 // indexes of archives
	known    map[string]*version // by URL; the version that was seen last
	warned   map[string]bool     // URLs of OnUnverified
}

// DefaultClient is the client of package hyperslab. A program may replace it before its first use.
var DefaultClient = NewClient(nil)

// NewClient returns a client. Nil means the zero Options.
func NewClient(o *Options) *Client {
	if o == nil {
		o = &Options{}
	}
	f := o.filled()
	c := &Client{
		o: f, cache: newCache(f.Cache), disk: newDisk(f.CacheDir, f.DiskCache, f.CacheKey), web: newHTTP(&f, f.AllowPrivate),
		slots: make(chan struct{}, f.Parallel), known: make(map[string]*version), warned: make(map[string]bool),
	}
	if c.short = c.slots; o.Parallel <= 0 {
		c.short = make(chan struct{}, shortParallel)
	}
	return c
}

// Stats returns the counters of all objects of the client, open or closed.
func (c *Client) Stats() Stats { return c.count.stats() }

// CloseIdle closes the connections that no request uses, and the files of UseIndex. The client
// remains usable.
func (c *Client) CloseIdle() {
	c.web.CloseIdleConnections()
	c.s3.closeIdle()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.indexes {
		_ = x.close() // it was only read
	}
	for _, f := range c.archives {
		_ = f.Close()
	}
	c.indexes, c.indexOf, c.members, c.archives = nil, nil, nil, nil
	clear(c.recent[:])
}

const (
	freshFor  = 10 * time.Second // time in which a known version is opened without a request
	maxKnown  = 4096             // versions that a client remembers
	firstRead = 8 * blockSize    // bytes of the request that opens an object
)

// Open opens the object at a URL. Opening needs one request, which also reads the beginning of the
// object, or none if the client has used the same object in the last 10 seconds. ctx applies to
// Open, and not to later reads, which Close stops.
//
// It returns fs.ErrNotExist, fs.ErrPermission, ErrRefused, ErrLimit or ErrResponse, for example for
// a server without range requests.
func (c *Client) Open(ctx context.Context, url string) (*Object, error) {
	return c.open(ctx, url, false, url)
}

// open is Open. whole is set for a file that is read as a whole if it is small. unit is the URL of
// the object or of its directory, which is reported if changes cannot be detected.
func (c *Client) open(ctx context.Context, url string, whole bool, unit string) (*Object, error) {
	shown := Redact(url)
	o, err := c.object(ctx, url, shown, whole)
	if err == nil {
		if err = c.verified(o.v, unit); err == nil {
			return o, nil
		}
		err = errors.Join(err, o.Close())
	}
	return nil, fail("open", shown, err)
}

func (c *Client) object(ctx context.Context, url, shown string, whole bool) (*Object, error) {
	t, err := c.target(url)
	if err != nil {
		return nil, err
	}
	o := &Object{c: c}
	c.mu.Lock()
	v := c.known[url]
	ix, err := c.indexForLocked(url)
	if err != nil {
		c.mu.Unlock()
		return nil, err
	}
	fresh := v != nil && time.Since(v.seen) < freshFor && (ix == nil || ix.tag != "" || ix.matched.Load() == v)
	c.mu.Unlock()
	o.index = ix
	if ix != nil && ix.tag != "" && !fresh {
		v = c.remember(url, &version{target: t, shown: shown, size: ix.size, tag: ix.tag, time: ix.time, seen: time.Now()})
		fresh = true
	}
	if fresh && ix != nil && ix.tag != "" && (v.size != ix.size || v.tag != ix.tag) {
		return nil, fmt.Errorf("%w: index: got %d bytes, ETag %s; want %d bytes, ETag %s", ErrChanged, v.size, v.tag, ix.size, ix.tag)
	}
	if fresh {
		return o, o.start(url, v)
	}
	o.v = &version{target: t, shown: shown}
	now, blocks, rest, err := o.probe(ctx, whole && ix == nil)
	if err != nil {
		return nil, o.computed(ctx, url, err)
	}
	defer func() { rest.end() }()
	if now.size > c.o.MaxSize {
		return nil, fmt.Errorf("%w: object of %d bytes, want at most %d", ErrLimit, now.size, c.o.MaxSize)
	}
	if err := ix.matches(now, blocks); err != nil {
		return nil, err
	}
	now = c.remember(url, now)
	if ix != nil {
		ix.matched.Store(now)
	}
	for i, data := range blocks {
		if b, mine := c.cache.claim(key{now, int64(i)}); mine {
			c.cache.done(b, data)
		}
	}
	if err := o.start(url, now); err != nil {
		return nil, err
	}
	for i, data := range blocks {
		o.store(int64(i), data)
	}
	if rest != nil {
		o.receive(rest)
		rest = nil
	}
	return o, nil
}

// remember records the current version of a URL. It returns the known version if that is the same.
func (c *Client) remember(url string, now *version) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.known[url]; v != nil && now.weakness == "" && v.weakness == "" && v.size == now.size && v.tag == now.tag && v.time == now.time {
		v.seen = now.seen
		return v
	}
	if len(c.known) >= maxKnown {
		clear(c.known)
	}
	c.known[url] = now
	return now
}

// forget makes the next Open of a changed object ask the server.
func (c *Client) forget(v *version) {
	c.mu.Lock()
	for url, known := range c.known {
		if known == v {
			delete(c.known, url)
		}
	}
	c.mu.Unlock()
	c.cache.forget(v)
}
