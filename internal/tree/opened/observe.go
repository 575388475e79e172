// Regions in traces and log records of opened arrays and trees.

package opened

import (
	"context"
	"log/slog"
	"runtime/trace"
	"time"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/meter"
	"github.com/hyperslab/hyperslab/ndarray"
)

// logged opens an array and, if log is not nil, gives it the logger and writes a record.
func logged(ctx context.Context, log *slog.Logger, op, location string, open func() (*ndarray.Array, error)) (*ndarray.Array, error) {
	defer trace.StartRegion(ctx, meter.Open).End()
	began := time.Now()
	a, err := open()
	if err != nil {
		record(ctx, log, op, location, began, err)
		return nil, err
	}
	if log != nil {
		a.SetLogger(log)
		m := a.Meta()
		record(ctx, log, op, location, began, nil, slog.String("format", m.Format), slog.String("dtype", m.DType.String()), slog.Any("shape", m.Shape))
	}
	return a, nil
}

// record writes a record of an operation if log is not nil.
func record(ctx context.Context, log *slog.Logger, op, location string, began time.Time, err error, attrs ...slog.Attr) {
	if log == nil {
		return
	}
	attrs = append(attrs, slog.String("location", urlfile.Redact(location)), slog.Duration("duration", time.Since(began)))
	level := slog.LevelDebug
	if err != nil {
		level, attrs = slog.LevelWarn, append(attrs, slog.Any("error", err))
	}
	log.LogAttrs(ctx, level, op, attrs...)
}
