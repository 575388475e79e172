// Connections: limits of their number, and the server for a Handler.

package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits of the connections at a time.
const (
	maxConnections = 512
	maxPerClient   = 128 // for one address of another machine
)

// lastReplies is the time for responses in progress after the end of Serve's context.
const lastReplies = 300 * time.Millisecond

// Serve accepts connections of l and answers their requests until ctx ends. Responses in progress
// then have 300 ms to end. It closes l, and returns the cause of the end of ctx or the error of l.
//
// At most 512 connections are open at a time, of which 128 are from one address of another machine.
// Another connection replaces the oldest one that does not send a response: its client is idle, has
// not sent its request, or has no valid token. If all send responses, it waits for one of them, or
// is closed if they belong to its own client.
func (h *Handler) Serve(ctx context.Context, l net.Listener) error {
	return h.serve(ctx, l, newConnections(maxConnections, maxPerClient))
}

func (h *Handler) serve(ctx context.Context, l net.Listener, c *connections) error {
	h.served.Store(c, nil)
	defer h.served.Delete(c)
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 128 << 10, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog: slog.NewLogLogger(h.options.Log.Handler(), slog.LevelWarn), ConnState: c.changed,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), lastReplies)
		defer cancel()
		if server.Shutdown(last) != nil {
			stopped <- server.Close()
			return
		}
		stopped <- nil
	})
	err := server.Serve(&limitedListener{Listener: l, connections: c})
	if errors.Is(err, http.ErrServerClosed) && !stop() {
		return errors.Join(context.Cause(ctx), <-stopped)
	}
	return err
}

// connections limits the open connections.
type connections struct {
	most, each int // in total, and for one client

	mu     sync.Mutex
	free   sync.Cond // a connection was closed or ended its response
	open   map[net.Conn]*connection
	closed bool
}

// connection is an open connection.
type connection struct {
	remote  string     // address and port
	client  netip.Addr // not valid for this machine, which may be a proxy
	since   time.Time  // of the start, or of the end of the last response
	serving bool       // it has an admitted request
}

func newConnections(most, each int) *connections {
	c := &connections{most: most, each: each, open: map[net.Conn]*connection{}}
	c.free.L = &c.mu
	return c
}

// add adds a connection and closes another one if there are too many. It returns false if the
// client has too many itself, or if the listener is closed.
func (c *connections) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := &connection{remote: conn.RemoteAddr().String(), client: clientOf(conn), since: time.Now()}
	if x.client.IsValid() && c.count(x.client) >= c.each && !c.closeOldest(x.client) {
		return false
	}
	for len(c.open) >= c.most && !c.closed && !c.closeOldest(netip.Addr{}) {
		c.free.Wait()
	}
	if c.closed {
		return false
	}
	c.open[conn] = x
	return true
}

func (c *connections) count(client netip.Addr) (n int) {
	for _, x := range c.open {
		if x.client == client {
			n++
		}
	}
	return n
}

// closeOldest closes the connection that has waited longest among those of a client, or of all if
// the client is not valid. It returns false if all have requests.
func (c *connections) closeOldest(client netip.Addr) bool {
	var oldest net.Conn
	for conn, x := range c.open {
		if !x.serving && (!client.IsValid() || x.client == client) && (oldest == nil || x.since.Before(c.open[oldest].since)) {
			oldest = conn
		}
	}
	if oldest == nil {
		return false
	}
	delete(c.open, oldest)
	_ = oldest.Close() // the server reports the end of the connection
	return true
}

func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch x := c.open[conn]; {
	case x == nil: // already closed
	case state == http.StateIdle:
		x.serving, x.since = false, time.Now()
		c.free.Signal()
	case state == http.StateClosed, state == http.StateHijacked:
		delete(c.open, conn)
		c.free.Signal()
	}
}

// admitted marks the connection of a request that has the token, so that it is not closed before
// the end of the response.
func (c *connections) admitted(remote string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.open {
		if x.remote == remote {
			x.serving = true
		}
	}
}

func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.free.Broadcast()
}

// clientOf returns the address of a client on another machine.
func clientOf(conn net.Conn) netip.Addr {
	a, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || a.Addr().IsLoopback() {
		return netip.Addr{}
	}
	return a.Addr().Unmap().WithZone("")
}

// limitedListener accepts connections within the limits.
type limitedListener struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.connections.add(conn) {
			return conn, nil
		}
		_ = conn.Close() // it was not used
	}
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.connections.close()
	return l.Listener.Close()
}
