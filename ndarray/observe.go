// Counters, regions in traces, and log records of calls that move elements.

package ndarray

import (
	"context"
	"log/slog"
	"runtime/trace"
	"time"
)

// SetLogger makes each later call that reads or writes elements, and Close, write a record to l,
// with level Debug, or Warn if the call fails. The message is the operation, for example "read",
// and the attributes are array, bytes, duration and error. Views that are made later have the same
// logger. Nil, the default, turns the records off.
//
// Copy, Compare, Map and the reductions write a record for each part of an array that they move.
func (a *Array) SetLogger(l *slog.Logger) { a.log.Store(l) }

// observed is a call that is traced or logged.
type observed struct {
	ctx    context.Context
	region *trace.Region
	log    *slog.Logger // may be nil
	began  time.Time
}

// begin begins a call that moves elements. It returns nil if the call is neither traced nor logged.
func (a *Array) begin(ctx context.Context, region string) *observed {
	if a.log.Load() == nil && !trace.IsEnabled() {
		return nil
	}
	return &observed{ctx: ctx, region: trace.StartRegion(ctx, region), log: a.log.Load(), began: time.Now()}
}

// didRead ends a call that read n bytes, and returns its error.
func (a *Array) didRead(o *observed, op string, n int64, err error) error {
	if err == nil {
		a.count.Reads.Add(1)
		a.count.BytesRead.Add(n)
	}
	if o != nil {
		o.end(a, op, n, err)
	}
	return err
}

// didWrite is didRead for a call that wrote.
func (a *Array) didWrite(o *observed, op string, n int64, err error) error {
	if err == nil {
		a.count.Writes.Add(1)
		a.count.BytesWritten.Add(n)
	}
	if o != nil {
		o.end(a, op, n, err)
	}
	return err
}

func (o *observed) end(a *Array, op string, n int64, err error) {
	o.region.End()
	if o.log == nil {
		return
	}
	if err != nil {
		n = 0
	}
	record(o.ctx, o.log, op, err, slog.String("array", a.m().Path), slog.Int64("bytes", n), slog.Duration("duration", time.Since(o.began)))
}

// record writes a record of an operation.
func record(ctx context.Context, log *slog.Logger, op string, err error, attrs ...slog.Attr) {
	level := slog.LevelDebug
	if err != nil {
		level, attrs = slog.LevelWarn, append(attrs, slog.Any("error", err))
	}
	log.LogAttrs(ctx, level, op, attrs...)
}

// stringBytes returns the number of bytes of strings.
func stringBytes(v []string) (n int64) {
	for _, s := range v {
		n += int64(len(s))
	}
	return n
}
