package ndarray_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// memory returns an array in memory.
func memory(t require.TestingT, d ndarray.DType, shape ...int64) *ndarray.Array {
	b, err := mem.New(ndarray.Spec{Shape: shape, DType: d})
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

func TestTakeAs(t *testing.T) {
	ctx := t.Context()
	a := memory(t, dtype(t, "<i4"), 4, 5)
	defer func() { require.NoError(t, a.Close()) }()
	values := make([]int32, 20)
	for i := range values {
		values[i] = int32(100 * i)
	}
	require.NoError(t, ndarray.Write(ctx, a, values, ndarray.Whole(a.Shape())))
	for text, want := range map[string][]float64{
		"[::-2, 1]":       {1600, 600},
		"[[3, 0], [4,1]]": {1900, 1600, 400, 100},
		"[1:3, 4]":        {900, 1400},
		"[0, :0]":         {},
	} {
		s, err := ndarray.ParseSelection(text)
		require.NoError(t, err)
		got, err := ndarray.TakeAs[float64](ctx, a, s)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	got, err := ndarray.TakeAs[uint8](ctx, a, ndarray.Points([]int64{0, 1}, []int64{2, 3}))
	require.ErrorIs(t, err, ndarray.ErrValue)
	require.ErrorContains(t, err, "element [1]: 1300 is not a value of |u1")
	require.Nil(t, got)
	_, err = ndarray.TakeAs[string](ctx, a, ndarray.Select(ndarray.At(0)))
	require.ErrorIs(t, err, ndarray.ErrType)
	_, err = ndarray.TakeAs[int64](ctx, a, ndarray.Select(ndarray.At(4)))
	require.Error(t, err)
}

func TestTakeAs_times(t *testing.T) {
	ctx := t.Context()
	date := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"<M8[Y]": time.Date(1903, 1, 1, 0, 0, 0, 0, time.UTC), "<M8[M]": date, "<M8[D]": date, "<M8[W]": date.AddDate(0, 0, 4),
		"<M8[h]": date.Add(time.Hour), "<M8[15m]": date.Add(45 * time.Minute), ">M8[s]": date.Add(-time.Second),
		"<M8[ms]": date.Add(time.Millisecond), "<M8[us]": date.Add(-time.Microsecond), "<M8[ns]": date.Add(1),
		"<M8[ps]": time.Unix(1000, 1).UTC(), "<M8[fs]": time.Unix(9, 1).UTC(), "<M8[as]": time.Unix(-9, 1).UTC(),
	} {
		a := memory(t, dtype(t, text), 2)
		src := []time.Time{want.In(time.FixedZone("east", 3600)), {}}
		require.NoError(t, ndarray.WriteAs(ctx, a, src, ndarray.Whole(a.Shape())), text)
		got, err := ndarray.TakeAs[time.Time](ctx, a, ndarray.Select(ndarray.All()))
		require.NoError(t, err)
		require.Equal(t, []time.Time{want, {}}, got, text)
		ticks, err := ndarray.ReadAll[int64](ctx, a)
		require.NoError(t, err)
		require.Equal(t, int64(ndarray.NaT), ticks[1], text)
		require.NoError(t, a.Close())
	}
	type event struct {
		ID   int16     `nd:"id"`
		When time.Time `nd:"when,<M8[ms]"`
	}
	d, err := ndarray.DTypeFor[event]()
	require.NoError(t, err)
	a := memory(t, d, 2)
	events := []event{{1, date}, {2, time.Time{}}}
	require.NoError(t, ndarray.Write(ctx, a, events, ndarray.Whole(a.Shape())))
	got, err := ndarray.TakeAs[event](ctx, a, ndarray.Select(ndarray.All()))
	require.NoError(t, err)
	require.Equal(t, events, got)
	require.NoError(t, a.Close())
	for _, c := range []struct {
		dtype string
		ticks int64
		want  string
	}{
		{"<M8[ps]", 1, "element 1: value does not fit: 1970-01-01T00:00:00.000000000001 (1 ticks) as time.Time: it is not a multiple of 1 ns"},
		{"<M8[s]", -62135596800, "the zero Time is NaT"},
		{"<M8[D]", 1 << 60, "too far"}, {"<M8[Y]", 1 << 60, "too far"}, {"<M8", 1, "no unit"},
	} {
		a := memory(t, dtype(t, c.dtype), 2)
		require.NoError(t, ndarray.Write(ctx, a, []int64{ndarray.NaT, c.ticks}, ndarray.Whole(a.Shape())))
		_, err := ndarray.ReadAll[time.Time](ctx, a)
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, c.want)
		require.NoError(t, a.Close())
	}
	for text, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"<M8[s]": {date.Add(1), "element 1: value does not fit: 2026-03-01 00:00:00.000000001 +0000 UTC as datetime64[s]: it is not a multiple"},
		"<M8[M]": {date.Add(1), "start"}, "<M8[Y]": {date, "start"}, "<M8[as]": {date, "range"}, "<M8": {date, "no unit"},
	} {
		a := memory(t, dtype(t, text), 2)
		err := ndarray.WriteAs(ctx, a, []time.Time{{}, c.at}, ndarray.Whole(a.Shape()))
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, c.want)
		require.NoError(t, a.Close())
	}
}

// TestTakeAs_ticks checks that a time.Time is written as the ticks that it was read from.
func TestTakeAs_ticks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := memory(t, dtype(t, rapid.SampledFrom([]string{"<M8[Y]", "<M8[7M]", "<M8[W]", "<M8[D]", "<M8[h]", "<M8[m]", "<M8[25s]", "<M8[ms]", "<M8[us]", "<M8[ns]", "<M8[ps]", "<M8[as]"}).Draw(t, "type")), 1)
		defer func() { require.NoError(t, a.Close()) }()
		ticks := []int64{rapid.Int64().Draw(t, "ticks")}
		whole := ndarray.Whole(a.Shape())
		require.NoError(t, ndarray.Write(t.Context(), a, ticks, whole))
		times, err := ndarray.ReadAll[time.Time](t.Context(), a)
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrValue)
			return
		}
		require.NoError(t, ndarray.Write(t.Context(), a, times, whole))
		got, err := ndarray.ReadAll[int64](t.Context(), a)
		require.NoError(t, err)
		require.Equal(t, ticks, got)
	})
}
