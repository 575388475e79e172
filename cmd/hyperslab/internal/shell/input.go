// Input that may never end or never arrive: standard input and named pipes. A signal stops the
// command while it reads them.

package shell

import (
	"context"
	"io"
	"os"
)

// Stoppable returns a reader of r whose Read returns the cause of ctx as soon as ctx is cancelled.
// A read of r that is in progress then continues in the background until the process ends.
func Stoppable(ctx context.Context, r io.Reader) io.Reader {
	s := &stoppableReader{ctx: ctx, blocks: make(chan inputBlock), free: make(chan []byte, 2)}
	s.free <- make([]byte, 256<<10)
	s.free <- make([]byte, 256<<10)
	go func() {
		for {
			var b []byte
			select {
			case b = <-s.free:
			case <-ctx.Done():
				return
			}
			n, err := r.Read(b)
			select {
			case s.blocks <- inputBlock{b: b, text: b[:n], err: err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

type inputBlock struct {
	b, text []byte
	err     error
}

type stoppableReader struct {
	ctx    context.Context
	blocks chan inputBlock
	free   chan []byte
	now    inputBlock
}

// Read implements io.Reader.
func (s *stoppableReader) Read(dst []byte) (int, error) {
	for len(s.now.text) == 0 {
		if s.now.err != nil {
			return 0, s.now.err
		}
		if s.now.b != nil {
			s.free <- s.now.b
			s.now.b = nil
		}
		select {
		case s.now = <-s.blocks:
		case <-s.ctx.Done():
			return 0, context.Cause(s.ctx)
		}
	}
	n := copy(dst, s.now.text)
	s.now.text = s.now.text[n:]
	return n, nil
}

// openInput opens a file for reading. Opening a named pipe waits for its writer, unless ctx is
// cancelled first.
func openInput(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		f   *os.File
		err error
	}
	result := make(chan opened, 1)
	go func() {
		f, err := os.Open(name)
		result <- opened{f, err}
	}()
	select {
	case o := <-result:
		return o.f, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
