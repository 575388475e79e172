// Tests of counters, log records and regions of traces.

package hyperslab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// observedFile writes a file of 6 chunks of 20 int32 and returns its location.
func observedFile(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	spec := filetest.Int32s(120)
	spec.ChunkShape, spec.MaxShape = []int64{20}, []int64{ndarray.Unlimited}
	if strings.HasSuffix(name, ".h5:/x") {
		spec.Compression = &ndarray.Compression{Codec: "deflate"}
	} else {
		spec.MaxShape = nil
	}
	filetest.Save(t, file, spec, nil)
	return file
}

func TestReadCounters(t *testing.T) {
	ctx := t.Context()
	for _, name := range []string{"a.h5:/x", "a.b2nd", "a.bcolz"} {
		t.Run(name, func(t *testing.T) {
			file := observedFile(t, name)
			a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Write: true})
			require.NoError(t, err)
			defer func() { require.NoError(t, a.Close()) }()
			before := hyperslab.ReadCounters()
			require.NoError(t, a.Read(ctx, make([]byte, 480), ndarray.Whole(a.Shape())))
			require.Error(t, a.Read(ctx, make([]byte, 481), ndarray.Whole(a.Shape())), "not counted")
			require.NoError(t, a.Take(ctx, make([]byte, 8), ndarray.Points([]int64{3}, []int64{99})))
			require.NoError(t, a.Write(ctx, make([]byte, 480), ndarray.Whole(a.Shape())))
			require.NoError(t, a.Append(ctx, 0, make([]byte, 80)))
			now := hyperslab.ReadCounters()
			require.EqualValues(t, 2, now.Reads-before.Reads)
			require.EqualValues(t, 488, now.BytesRead-before.BytesRead)
			require.EqualValues(t, 2, now.Writes-before.Writes)
			require.EqualValues(t, 560, now.BytesWritten-before.BytesWritten)
			require.Positive(t, now.Chunks-before.Chunks)
		})
	}
	t.Run("waits for a lock", func(t *testing.T) {
		file := observedFile(t, "a.b2nd")
		lock, err := hyperslab.LockFile(ctx, file, nil)
		require.NoError(t, err)
		before := hyperslab.ReadCounters()
		var all sync.WaitGroup
		all.Go(func() {
			a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Write: true})
			if err == nil {
				err = a.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
		require.Eventually(t, func() bool { return hyperslab.ReadCounters().LockWaits > before.LockWaits }, 10*time.Second, time.Millisecond)
		require.NoError(t, lock.Release())
		all.Wait()
		require.Greater(t, hyperslab.ReadCounters().LockWaited, before.LockWaited)
	})
	t.Run("JSON", func(t *testing.T) {
		b, err := json.Marshal(hyperslab.Counters{BytesRead: 7, LockWaited: time.Second})
		require.NoError(t, err)
		require.Contains(t, string(b), `"bytes_read":7,`)
		require.Contains(t, string(b), `"lock_waited_ns":1000000000,`)
	})
}

func TestOpenOptions_Logger(t *testing.T) {
	ctx := t.Context()
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}}))
	records := func() []string {
		defer b.Reset()
		return strings.Split(strings.TrimSpace(b.String()), "\n")
	}
	file := observedFile(t, "a.h5:/x")
	a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Logger: log})
	require.NoError(t, err)
	require.NoError(t, a.Read(ctx, make([]byte, 480), ndarray.Whole(a.Shape())))
	require.Error(t, a.Read(ctx, make([]byte, 481), ndarray.Whole(a.Shape())))
	view, err := ndarray.View(a, ndarray.Points([]int64{3}))
	require.NoError(t, err)
	require.NoError(t, view.Read(ctx, make([]byte, 4), ndarray.Whole(view.Shape())))
	require.NoError(t, a.Close())
	got := records()
	require.Len(t, got, 5)
	require.Equal(t, "level=DEBUG msg=open format=hdf5 dtype=<i4 shape=[120] location="+file, got[0])
	require.Equal(t, "level=DEBUG msg=read array="+file+" bytes=480", got[1])
	require.Contains(t, got[2], "level=WARN msg=read array="+file+" bytes=0 error=")
	require.Contains(t, got[3], "bytes=4")
	require.Equal(t, "level=DEBUG msg=close array="+file, got[4])

	_, err = hyperslab.Open(ctx, file+"missing", &hyperslab.OpenOptions{Logger: log})
	require.Error(t, err)
	require.Contains(t, records()[0], "level=WARN msg=open location="+file+"missing error=")

	tree, err := hyperslab.OpenTree(ctx, strings.TrimSuffix(file, ":/x"), &hyperslab.OpenOptions{Logger: log, Untrusted: &hyperslab.Untrusted{InProcess: true}})
	require.NoError(t, err)
	a, err = tree.Open(ctx, "/x")
	require.NoError(t, err)
	a.SetLogger(nil)
	require.NoError(t, a.Read(ctx, make([]byte, 480), ndarray.Whole(a.Shape())))
	require.NoError(t, a.Close())
	require.NoError(t, tree.Close())
	got = records()
	require.Len(t, got, 2)
	require.Contains(t, got[0], `msg="open untrusted"`)
	require.Contains(t, got[1], "msg=open format=hdf5")
}

// TestTrace checks that a trace contains the regions.
func TestTrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("another trace is written")
	}
	ctx := context.Background()
	file := observedFile(t, "a.b2nd")
	var b bytes.Buffer
	require.NoError(t, trace.Start(&b))
	a, err := hyperslab.Open(ctx, file, &hyperslab.OpenOptions{Write: true})
	if err == nil {
		values := make([]byte, 480)
		require.NoError(t, a.Read(ctx, values, ndarray.Whole(a.Shape())))
		require.NoError(t, a.Write(ctx, values, ndarray.Whole(a.Shape())))
		require.NoError(t, a.Close())
	}
	trace.Stop()
	require.NoError(t, err)
	for _, region := range []string{"hyperslab.open", "hyperslab.read", "hyperslab.write"} {
		require.Contains(t, b.String(), region)
	}
}
