// Client: a worker that is started when it is needed, and again when it died.

package worker

import (
	"context"
	"errors"
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
	return c.Stream(ctx, func(yield func([]byte) bool) { yield(request) }, use)
}

// Stream makes calls one after the other, and wastes no time between them: while use
// sees one answer, the worker already works on the next request, which therefore
// must not touch what use looks at in the window. It ends with the first error,
// that of use included; its errors are those of Call.
func (c *Client) Stream(ctx context.Context, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return &Error{Op: "call", Service: c.cfg.Service, Err: ErrClosed}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.p == nil {
		p, err := start(ctx, &c.cfg)
		if err != nil {
			return err
		}
		c.p, c.level = p, p.level
		c.starts++
	}
	err := c.streamLocked(ctx, requests, use)
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

func (c *Client) streamLocked(ctx context.Context, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	next, stop := iter.Pull(requests)
	defer stop()
	request, more := next()
	if !more {
		return nil
	}
	if err := c.p.send(ctx, request); err != nil {
		return &workerError{err}
	}
	for more {
		answer, err := c.p.receive(ctx)
		if err != nil {
			if _, remote := errors.AsType[*RemoteError](err); remote {
				return err // nothing else is under way
			}
			return &workerError{err}
		}
		if request, more = next(); more {
			if err := c.p.send(ctx, request); err != nil {
				return &workerError{err}
			}
		}
		if use == nil {
			continue
		}
		if err := use(answer, c.p.window); err != nil {
			if more { // its answer is nobody's
				if _, err := c.p.receive(ctx); err != nil {
					if _, remote := errors.AsType[*RemoteError](err); !remote {
						return &workerError{err}
					}
				}
			}
			return err
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
