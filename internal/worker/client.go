// Client: a worker that is started when it is needed, and again when it died.

package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// A Client calls one service in a worker process. The process starts with the
// first call, and again with the call after one in which it died.
type Client struct {
	cfg Config

	mu     sync.Mutex
	p      *process
	level  Level
	starts int
	closed bool
}

// NewClient checks cfg and returns a client; no process is started yet. The host
// keeps cfg.Files open as long as it uses the client.
func NewClient(cfg Config) (*Client, error) {
	fail := func(err error, detail string) (*Client, error) {
		return nil, &Error{Op: "start", Service: cfg.Service, Err: err, Detail: detail}
	}
	if err := cfg.Limits.check(); err != nil {
		return fail(ErrProtocol, err.Error())
	}
	if len(cfg.Files) > maxFiles {
		return fail(ErrProtocol, fmt.Sprintf("%d files, at most %d", len(cfg.Files), maxFiles))
	}
	cfg.Limits = cfg.Limits.filled()
	if !initialized() {
		return fail(ErrUnavailable, "the program does not call worker.Init first in main (a test: in TestMain)")
	}
	if service(cfg.Service) == nil {
		return fail(ErrUnavailable, "no such service in this binary")
	}
	return &Client{cfg: cfg}, nil
}

// Call sends one request and returns the answer. use, if not nil, sees the answer
// and the window while no other call can change it. The error is the service's
// (a *RemoteError), ctx's, or an *Error that tells what became of the worker.
func (c *Client) Call(ctx context.Context, request []byte, use func(answer, window []byte) error) error {
	return c.Stream(ctx, 1, func(yield func([]byte) bool) { yield(request) }, use)
}

// MaxAhead is the most requests that Stream sends ahead.
const MaxAhead = 64

// Stream makes calls one after the other, and wastes no time between them: while use
// sees one answer, the worker already works on the next requests, as many as ahead says
// (1 to MaxAhead), which therefore must not touch what use looks at in the window. Answers
// come in the order of the requests. It ends with the first error, that of use included;
// its errors are those of Call.
func (c *Client) Stream(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &Error{Op: "call", Service: c.cfg.Service, Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if ahead < 1 || ahead > MaxAhead {
		return &Error{Op: "call", Service: c.cfg.Service, Err: ErrProtocol, Detail: fmt.Sprintf("%d requests ahead, 1 to %d", ahead, MaxAhead)}
	}
	if c.p == nil {
		p, err := start(ctx, &c.cfg)
		if err != nil {
			return err
		}
		c.p, c.level = p, p.level
		c.starts++
		makeSpare()
	}
	err := c.streamLocked(ctx, ahead, requests, use)
	if _, dead := errors.AsType[*workerError](err); dead {
		c.p.kill()
		c.p = nil
		return errors.Unwrap(err)
	}
	return err
}

// workerError is an error after which the process is of no more use.
type workerError struct{ error }

func (e *workerError) Unwrap() error { return e.error }

func (c *Client) streamLocked(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	next, stop := iter.Pull(requests)
	defer stop()
	under, more := 0, true // requests that are not answered; whether there may be others
	send := func() error {
		for more && under < ahead {
			var request []byte
			if request, more = next(); !more {
				break
			}
			if err := c.p.send(ctx, request); err != nil {
				return &workerError{err}
			}
			under++
		}
		return nil
	}
	// end waits for the answers that are nobody's any more.
	end := func(why error) error {
		for ; under > 0; under-- {
			if _, err := c.p.receive(ctx); err != nil {
				if _, remote := errors.AsType[*RemoteError](err); !remote {
					return &workerError{err}
				}
			}
		}
		return why
	}
	if err := send(); err != nil {
		return err
	}
	for under > 0 {
		answer, err := c.p.receive(ctx)
		under--
		if err != nil {
			if _, remote := errors.AsType[*RemoteError](err); remote {
				return end(err)
			}
			return &workerError{err}
		}
		if err := send(); err != nil {
			return err
		}
		if use == nil {
			continue
		}
		if err := use(answer, c.p.window); err != nil {
			return end(err)
		}
	}
	return nil
}

// Level reports what holds the worker; the zero Level before the first call.
func (c *Client) Level() Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// Starts counts the processes that this client has started.
func (c *Client) Starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// Close ends the worker. A second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.p != nil {
		c.p.kill()
		c.p = nil
	}
	return nil
}
