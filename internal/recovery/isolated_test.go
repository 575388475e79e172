package recovery_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// cut truncates a file to two thirds of its size.
func cut(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Size()*2/3))
	return path
}

// without removes the files in a directory that match a pattern.
func without(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	require.NoError(t, os.RemoveAll(names[0]))
	return dir
}

// TestIsolated checks that a worker recovers the same bytes, with the same report, as this process,
// and leaves no temporary files.
func TestIsolated(t *testing.T) {
	for name, src := range map[string]string{
		"frame":  cut(t, save(t, "a.b2nd", nil)),
		"whole":  save(t, "a.b2nd", nil),
		"sparse": without(t, save(t, "a.b2nd", &hyperslab.CreateOptions{Sparse: true}), "*3.chunk"),
		"tree":   without(t, save(t, "a.bcolz", nil), "data/*1.blp"),
		"old":    cut(t, saveHDF5(t, h5.Earliest)),
		"new":    cut(t, saveHDF5(t, h5.V114)),
		"values": saveValues(t, h5.V114),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
			want, err := recovery.Recover(bg, here, src, &recovery.Options{Progress: forward(t)})
			require.NoError(t, err)
			got, err := recovery.Recover(bg, there, src, &recovery.Options{Isolated: true, Progress: forward(t)})
			require.NoError(t, err)
			require.Equal(t, want.ExitCode(), got.ExitCode())
			same := func() {
				t.Helper()
				made := content(t, there)
				for name, b := range content(t, here) {
					at := strings.Replace(name, here, there, 1)
					require.True(t, b == made[at], "%s differs", at)
					delete(made, at)
				}
				require.Empty(t, made)
			}
			same()
			want.Destination = there
			requireSameReport(t, want, got)

			none := &recovery.Options{Isolated: true}
			_, err = recovery.Recover(bg, there, src, none)
			require.ErrorIs(t, err, ndarray.ErrExists)
			none.Overwrite, none.MaxFindings = true, 1
			got, err = recovery.Recover(bg, there, src, none)
			require.NoError(t, err)
			require.LessOrEqual(t, len(got.Findings), 1)
			require.Equal(t, want.NumFindings, got.NumFindings)
			same()
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, left, 2)
		})
	}
}

// forward returns a Progress function. It checks that progress never decreases and reaches the
// total.
func forward(t *testing.T) func(done, total int64) {
	var last, end int64
	t.Cleanup(func() {
		require.Positive(t, end, "no progress was reported")
		require.Equal(t, end, last)
	})
	return func(done, total int64) {
		require.LessOrEqual(t, last, done)
		require.LessOrEqual(t, end, total)
		require.LessOrEqual(t, done, total)
		last, end = done, total
	}
}

// requireSameReport compares all fields of two reports.
func requireSameReport(t *testing.T, want, got *recovery.Report) {
	t.Helper()
	require.Equal(t, want.Findings, got.Findings)
	require.Equal(t, [...]any{want.Source, want.Destination, want.Format, want.Arrays, want.Chunks, want.Certain, want.Unverified, want.Guessed, want.Lost, want.LostObjects, want.NumFindings},
		[...]any{got.Source, got.Destination, got.Format, got.Arrays, got.Chunks, got.Certain, got.Unverified, got.Guessed, got.Lost, got.LostObjects, got.NumFindings})
}

// TestIsolatedRefuses checks that a worker returns the same errors as this process and leaves no
// files.
func TestIsolatedRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes")
	require.NoError(t, os.WriteFile(text, []byte("no array at all"), 0o666))
	empty := filepath.Join(dir, "empty.h5")
	require.NoError(t, os.WriteFile(empty, nil, 0o666))
	sound := save(t, "a.b2nd", nil)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	dst := filepath.Join(dir, "x")
	for _, tt := range []struct {
		ctx  context.Context
		src  string
		o    recovery.Options
		want error
	}{
		{bg, filepath.Join(dir, "none"), recovery.Options{}, ndarray.ErrNotFound},
		{bg, text, recovery.Options{}, ndarray.ErrFormat},
		{bg, empty, recovery.Options{}, ndarray.ErrCorrupt},
		{bg, sound, recovery.Options{Memory: -1}, ndarray.ErrParam},
		{bg, sound, recovery.Options{Time: time.Nanosecond}, worker.ErrTimeout},
		{ctx, sound, recovery.Options{}, context.Canceled},
	} {
		tt.o.Isolated = true
		_, err := recovery.Recover(tt.ctx, dst, tt.src, &tt.o)
		require.ErrorIs(t, err, tt.want, tt.src)
		require.NotContains(t, err.Error(), "/proc/self/fd")
		left, err := filepath.Glob(filepath.Join(dir, "*x*"))
		require.NoError(t, err)
		require.Empty(t, left)
		hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
		require.NoError(t, err)
		require.Empty(t, hidden)
	}
}
