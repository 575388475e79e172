package h5_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestGroupOptions checks that a group returns the options it was created with, also after the file
// is closed and opened again.
func TestGroupOptions(t *testing.T) {
	level := 6
	want := h5.GroupOptions{
		Order: h5.IndexedCreationOrder, Phase: &h5.PhaseChange{MaxCompact: 3, MinDense: 2}, Expect: &h5.LinkEstimate{Links: 20, NameLen: 30},
		Deflate: &level, Fletcher32: true,
		AttributeOrder: h5.TrackCreationOrder, AttributePhase: &h5.PhaseChange{MaxCompact: 5, MinDense: 1}, Times: true,
	}
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V18, High: h5.LatestFormat})
	require.NoError(t, err)
	g, err := f.Root().CreateGroupWith("g", &want)
	require.NoError(t, err)
	plain, err := f.Root().CreateGroup("plain")
	require.NoError(t, err)
	check := func(g, plain *h5.Group, storage h5.GroupStorage) {
		info, err := g.Info()
		require.NoError(t, err)
		require.Equal(t, want, info.Options)
		require.Equal(t, storage, info.Storage)
		stat, err := g.Stat()
		require.NoError(t, err)
		require.False(t, stat.Born.IsZero())
		info, err = plain.Info()
		require.NoError(t, err)
		require.Equal(t, h5.GroupOptions{
			Phase: &h5.PhaseChange{MaxCompact: 8, MinDense: 6}, Expect: &h5.LinkEstimate{Links: 4, NameLen: 8},
			AttributePhase: &h5.PhaseChange{MaxCompact: 8, MinDense: 6},
		}, info.Options)
		stat, err = plain.Stat()
		require.NoError(t, err)
		require.True(t, stat.Born.IsZero() && stat.Modified.IsZero(), "no times unless asked for")
	}
	check(g, plain, h5.CompactLinks)
	for i := range 4 {
		require.NoError(t, g.LinkSoft(fmt.Sprint(i), "/"))
	}
	check(g, plain, h5.DenseLinks)
	f = reopen(t, f, h5.ReadWrite)
	g, err = f.Root().OpenGroup("g")
	require.NoError(t, err)
	plain, err = f.Root().OpenGroup("plain")
	require.NoError(t, err)
	check(g, plain, h5.DenseLinks)
	for i := range 3 {
		require.NoError(t, g.Unlink(fmt.Sprint(i)))
	}
	check(g, plain, h5.CompactLinks)
}

func TestOldGroups(t *testing.T) {
	r := newFile(t).Root()
	g, err := r.CreateGroupWith("g", &h5.GroupOptions{LocalHeap: 4096})
	require.NoError(t, err)
	info, err := g.Info()
	require.NoError(t, err)
	require.Equal(t, h5.SymbolTable, info.Storage)
	require.Equal(t, "symbol table", info.Storage.String())
	h, err := g.Header()
	require.NoError(t, err)
	require.Equal(t, 1, h.Version)
	require.GreaterOrEqual(t, h.Heap, int64(4096))
	require.Positive(t, h.Index)
	require.NotZero(t, h.Present&(1<<17), "a symbol table message")
	require.Equal(t, h.Total, h.Meta+h.Data+h.Free)
}

func TestCreateGroup_invalidOptions(t *testing.T) {
	r := newFile(t).Root()
	eleven := 11
	for name, o := range map[string]h5.GroupOptions{
		"order":           {Order: 3},
		"attribute order": {AttributeOrder: -1},
		"phase":           {Phase: &h5.PhaseChange{MaxCompact: 2, MinDense: 3}},
		"phase too large": {Phase: &h5.PhaseChange{MaxCompact: 1 << 16}},
		"attribute phase": {AttributePhase: &h5.PhaseChange{MaxCompact: -1}},
		"estimate":        {Expect: &h5.LinkEstimate{Links: 1 << 16}},
		"heap":            {LocalHeap: -1},
		"level":           {Deflate: &eleven},
	} {
		_, err := r.CreateGroupWith("g", &o)
		require.ErrorIs(t, err, h5.ErrParam, name)
		_, err = r.CreateAnonymousGroup(&o)
		require.ErrorIs(t, err, h5.ErrParam, name)
	}
	has, err := r.HasLink("g")
	require.NoError(t, err)
	require.False(t, has)
}

// TestPhaseChangeLimits checks that libhdf5 accepts every PhaseChange that the options accept.
func TestPhaseChangeLimits(t *testing.T) {
	r := newFile(t).Root()
	for i, p := range []h5.PhaseChange{{0, 0}, {1, 0}, {65535, 65535}, {65535, 0}, {8, 8}} {
		_, err := r.CreateGroupWith(fmt.Sprint("g", i), &h5.GroupOptions{Phase: &p, AttributePhase: &p})
		require.NoError(t, err, p)
	}
}

func TestAnonymousGroup(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateAnonymousGroup(nil)
	require.NoError(t, err)
	require.Empty(t, g.Path())
	_, err = g.CreateGroup("inside")
	require.NoError(t, err)
	stat, err := g.Stat()
	require.NoError(t, err)
	require.Zero(t, stat.Links)
	require.NoError(t, f.Root().LinkObject("a/name", g))
	_, err = f.Root().OpenGroup("a/name/inside")
	require.NoError(t, err)
	require.ErrorIs(t, f.Root().LinkObject("a/name", g), h5.ErrExists)
	other := newFile(t)
	require.Error(t, other.Root().LinkObject("x", g), "an object of another file")
	require.NoError(t, g.Close())
	require.ErrorIs(t, f.Root().LinkObject("b", g), h5.ErrClosed)
}
