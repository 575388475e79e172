// Transport of requests and answers as bytes. It starts a worker on demand and restarts it after a
// crash.

package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// A transport calls one service in a worker process. The process starts with the first call, and
// again with the next call after it died.
type transport struct {
	cfg config

	mu     sync.Mutex
	p      *process
	level  Level
	starts int
	closed bool
}

// newTransport checks cfg and returns a transport. It does not start a process yet.
func newTransport(cfg config) (*transport, error) {
	fail := func(err error, detail string) (*transport, error) {
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
		return fail(ErrUnavailable, "the program does not call hyperslab.Init first in main (a test: in TestMain)")
	}
	if service(cfg.Service) == nil {
		return fail(ErrUnavailable, "no such service in this binary")
	}
	return &transport{cfg: cfg}, nil
}

// Call sends one request and returns the answer. If use is not nil, it receives the answer and the
// window, and no other call changes the window meanwhile. The error is that of the service (a
// *RemoteError), that of ctx, or an *Error that describes the failure of the worker.
func (c *transport) Call(ctx context.Context, request []byte, use func(answer, window []byte) error) error {
	return c.Stream(ctx, 1, single(request), use)
}

func single(request []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { yield(request) }
}

// MaxAhead is the maximum number of requests that Stream sends ahead.
const MaxAhead = 64

// Stream makes calls one after the other without gaps. While use processes one answer, the worker
// already handles up to ahead further requests (1 to MaxAhead). These requests therefore must not
// change the part of the window that use reads. Answers arrive in the order of the requests. Stream
// ends with the first error, which may be one of use; its errors are those of Call.
func (c *transport) Stream(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streamLocked(ctx, ahead, requests, use)
}

// streamLocked is Stream for a caller that holds c.mu, because it makes more than one call.
func (c *transport) streamLocked(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
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
	err := c.move(ctx, ahead, requests, use)
	if _, dead := errors.AsType[*workerError](err); dead {
		c.p.kill()
		c.p = nil
		return errors.Unwrap(err)
	}
	return err
}

// workerError is an error after which the process cannot be used any more.
type workerError struct{ error }

func (e *workerError) Unwrap() error { return e.error }

func (c *transport) move(ctx context.Context, ahead int, requests iter.Seq[[]byte], use func(answer, window []byte) error) error {
	next, stop := iter.Pull(requests)
	defer stop()
	under, more := 0, true // number of unanswered requests; whether there may be more requests
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
	// end receives and discards the remaining answers.
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

// Level returns the isolation of the worker, or the zero Level before the first call.
func (c *transport) Level() Level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// Starts returns the number of processes that were started.
func (c *transport) Starts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starts
}

// Close ends the worker. A second Close does nothing.
func (c *transport) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.p != nil {
		c.p.kill()
		c.p = nil
	}
	return nil
}
