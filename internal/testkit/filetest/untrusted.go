// Untrusted files.

package filetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// RequireSandbox returns the isolation of the worker that reads an array.
func RequireSandbox(t *testing.T, a *ndarray.Array) string {
	t.Helper()
	s, err := a.Storage(context.Background())
	require.NoError(t, err)
	require.NotEmpty(t, s.Isolation)
	return s.Isolation
}

// EveryWay runs a test with untrusted files in the process and in a worker.
func EveryWay(t *testing.T, f func(t *testing.T, u hyperslab.Untrusted)) {
	for name, direct := range map[string]bool{"direct": true, "worker": false} {
		t.Run(name, func(t *testing.T) { f(t, hyperslab.Untrusted{InProcess: direct}) })
	}
}

// RequireSameWalk walks a file with and without Untrusted and compares all fields of the entries.
func RequireSameWalk(t *testing.T, location string, u hyperslab.Untrusted, prune func(hyperslab.Entry) bool) (n int) {
	t.Helper()
	var want []hyperslab.Entry
	for e, err := range hyperslab.Walk(context.Background(), location, &hyperslab.WalkOptions{Prune: prune}) {
		require.NoError(t, err)
		want = append(want, e)
	}
	for e, err := range hyperslab.Walk(context.Background(), location, &hyperslab.WalkOptions{Prune: prune, Untrusted: &u}) {
		require.NoError(t, err)
		require.Less(t, n, len(want))
		w := want[n]
		require.Equal(t, w.Err == nil, e.Err == nil, "%s: %v", e.Path, e.Err)
		for _, s := range []error{ndarray.ErrType, ndarray.ErrCorrupt, ndarray.ErrFormat, errors.ErrUnsupported} {
			require.Equal(t, errors.Is(w.Err, s), errors.Is(e.Err, s), "%s: %v", e.Path, e.Err)
		}
		w.Err, e.Err = nil, nil
		w.Meta.ReadOnly = e.Meta.ReadOnly
		if e.LinkKind == "symbolic" && e.Target == "" && !u.InProcess { // a worker cannot read links
			w.Target = ""
		}
		require.Equal(t, w, e)
		n++
	}
	require.Len(t, want, n)
	return n
}
