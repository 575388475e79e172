// RecordWriter appends records in blocks.

package ndarray

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// RecordWriterOptions are the options of NewRecordWriter. Nil means the zero value.
type RecordWriterOptions struct {
	Count    int           // records after which they are written although no chunk is full; 0: whole chunks only
	Interval time.Duration // time after which records are written although no chunk is full; 0: no time limit
}

// RecordWriter collects records in memory and appends them to an array of one dimension when they
// fill a chunk, so that each chunk is compressed once. Several goroutines may use it.
type RecordWriter[T any] struct {
	ctx     context.Context
	array   *Array
	options RecordWriterOptions

	codec  *codec
	mu     sync.Mutex
	data   []byte   // encoded records that wait
	strs   []string // the same for records of variable size
	chunk  int64    // records of a chunk
	timer  *time.Timer
	timers sync.WaitGroup // calls of the timer that are not over
	err    error          // the first error, of all later calls
	closed bool
}

// NewRecordWriter returns a RecordWriter for an array that is open for writing. ctx applies to all
// of its writes. T must match the array's element type as in Write. The array must stay open until
// Close. Without chunks, records are written in blocks of about 4 MiB.
//
// It returns ErrShape for another number of dimensions, ErrType, ErrReadOnly, and ErrParam for a
// negative option.
func NewRecordWriter[T any](ctx context.Context, a *Array, o *RecordWriterOptions) (*RecordWriter[T], error) {
	const op = "append to"
	w := &RecordWriter[T]{ctx: ctx, array: a}
	if o != nil {
		w.options = *o
	}
	m := a.m()
	var err error
	switch w.codec, err = codecFor[T](m.DType, mapping{write: true}); {
	case err != nil:
		return nil, a.wrap(op, err)
	case len(m.Shape) != 1:
		return nil, a.wrap(op, fmt.Errorf("%w: records: got shape %v, want one dimension", ErrShape, m.Shape))
	case m.ReadOnly:
		return nil, a.wrap(op, ErrReadOnly)
	case w.options.Count < 0 || w.options.Interval < 0:
		return nil, a.wrap(op, fmt.Errorf("%w: options: got Count %d and Interval %v, want at least 0", ErrParam, w.options.Count,
			w.options.Interval))
	}
	w.chunk = max(grid.SlabBytes/cmp.Or(int64(m.DType.Size), 64), 1)
	if m.ChunkShape != nil {
		w.chunk = max(m.ChunkShape[0], 1)
	}
	return w, nil
}

// Append adds records, and writes those that fill chunks. The caller may change the slices in them
// afterwards, because Append encodes the records.
//
// If the array cannot represent a record, Append takes no record of the call and returns the
// error of Write with the record's index in the call, for example ErrValue. The RecordWriter stays
// usable.
//
// Append also returns ErrClosed after Close, or the error of a write: of this call, or of an
// earlier write by any call or by the timer. After an error of a write the RecordWriter accepts no
// more records. The message contains the number of records that are not written. Unless
// appends to the array are atomic, it may have grown by the records of the failed write, which then
// read as written in part and otherwise as the fill value.
func (w *RecordWriter[T]) Append(records ...T) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	if err := w.add(records); err != nil {
		return w.array.wrap("append to", err)
	}
	if n := w.options.Count; n > 0 && w.waiting() >= n {
		return w.write(w.waiting())
	}
	if whole := w.whole(); whole > 0 {
		if err := w.write(whole); err != nil {
			return err
		}
	}
	w.start()
	return nil
}

// Flush writes all records to the array, as Array.Append does. The last chunk, if it is not full,
// is compressed again later. It returns the errors of Append.
func (w *RecordWriter[T]) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	return w.write(w.waiting())
}

// Close writes all records and ends the RecordWriter. It does not close the array. It returns the
// errors of Append; a second Close returns nil.
func (w *RecordWriter[T]) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	err := w.err
	if err == nil {
		err = w.write(w.waiting())
	}
	w.stop()
	w.closed, w.data, w.strs = true, nil, nil
	w.mu.Unlock()
	w.timers.Wait()
	return err
}

// usable returns the error of a RecordWriter that accepts no records.
func (w *RecordWriter[T]) usable() error {
	if w.closed {
		return w.array.wrap("append to", ErrClosed)
	}
	return w.err
}

// whole returns the number of records that end at the border of a chunk.
func (w *RecordWriter[T]) whole() int {
	missing := w.chunk - w.array.m().Shape[0]%w.chunk
	n := int64(w.waiting())
	if n < missing {
		return 0
	}
	return int(missing + (n-missing)/w.chunk*w.chunk)
}

// add encodes records and adds them to those that wait, unless one of them is invalid.
func (w *RecordWriter[T]) add(records []T) error {
	if w.codec.Size == 0 {
		_, strs, err := encodeItems(w.codec, records, func(i int) any { return i })
		if err == nil {
			w.strs = append(w.strs, strs...)
		}
		return err
	}
	s := structconv.State{Block: append(w.data, make([]byte, len(records)*w.codec.Size)...)}
	err := w.codec.Encode(&s, len(records), len(w.data), unsafe.Pointer(unsafe.SliceData(records)))
	if err == nil {
		w.data = s.Block
	}
	return err
}

// waiting returns the number of records that wait.
func (w *RecordWriter[T]) waiting() int {
	if w.codec.Size == 0 {
		return len(w.strs)
	}
	return len(w.data) / w.codec.Size
}

// write writes the first n records.
func (w *RecordWriter[T]) write(n int) error {
	if n > 0 {
		var err error
		if size := w.codec.Size; size == 0 {
			err = w.array.appendStrings(w.ctx, 0, w.strs[:n])
		} else {
			err = w.array.Append(w.ctx, 0, w.data[:n*size])
		}
		if err != nil {
			w.err = w.array.wrap("append to", fmt.Errorf("%d records are not written: %w", w.waiting(), err))
			w.stop()
			w.data, w.strs = nil, nil
			return w.err
		}
		w.data = slices.Delete(w.data, 0, n*w.codec.Size)
		w.strs = slices.Delete(w.strs, 0, min(n, len(w.strs)))
	}
	if w.waiting() == 0 {
		w.stop()
	}
	return nil
}

// start starts the timer for records that wait.
func (w *RecordWriter[T]) start() {
	if w.options.Interval == 0 || w.waiting() == 0 || w.timer != nil {
		return
	}
	w.timers.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(w.options.Interval, func() {
		defer w.timers.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timer == timer {
			w.timer = nil
			_ = w.write(w.waiting()) // the next call returns the error
		}
	})
	w.timer = timer
}

// stop stops the timer.
func (w *RecordWriter[T]) stop() {
	if w.timer != nil && w.timer.Stop() {
		w.timers.Done()
	}
	w.timer = nil
}
