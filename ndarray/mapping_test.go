package ndarray_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

type track struct {
	ID     int32      `nd:"id"`
	Name   string     `nd:"name,string"`
	Hits   []hit      `nd:"hits"`
	Cells  [2][]int16 `nd:"cells"`
	Labels []string   `nd:"labels,sequence('string')"`
	Target string     `nd:"target,reference('object')"`
	When   time.Time  `nd:"when,<M8[s]"`
	On     []bool     `nd:"on"`
}

type hit struct {
	X, Y float32
	Code string `nd:"code,S4"`
}

func tracks() []track {
	return []track{
		{ID: 1, Name: "é", Hits: []hit{{1, 2, "a"}, {-3, 4.5, "bcd"}}, Cells: [2][]int16{{1, -2, 3}, nil}, Labels: []string{"", "x"},
			Target: "/g", When: time.Unix(1e9, 0).UTC(), On: []bool{true, false}},
		{Cells: [2][]int16{nil, {7}}},
		{ID: -3, Name: "third", Labels: []string{"one"}},
	}
}

func TestDTypeFor_variable(t *testing.T) {
	d, err := ndarray.DTypeFor[track]()
	require.NoError(t, err)
	require.Zero(t, d.Size)
	again, err := ndarray.ParseDType(d.String())
	require.NoError(t, err)
	require.True(t, d.Equal(again), d.String())
	d, err = ndarray.DTypeFor[[][]uint8]()
	require.NoError(t, err)
	require.Equal(t, `sequence("sequence('u1')")`, d.String())
}

func TestMapper(t *testing.T) {
	d, err := ndarray.DTypeFor[track]()
	require.NoError(t, err)
	ctx := t.Context()
	a := newMem(t, ndarray.Spec{Shape: []int64{3}, MaxShape: []int64{ndarray.Unlimited}, DType: d, ChunkShape: []int64{2}})
	require.NoError(t, ndarray.Write(ctx, a, tracks(), ndarray.Whole(a.Shape())))
	t.Run("all", func(t *testing.T) {
		got, err := ndarray.ReadAll[track](ctx, a)
		require.NoError(t, err)
		require.Equal(t, tracks(), got)
	})
	t.Run("selection", func(t *testing.T) {
		for text, want := range map[string][]track{
			"[::-2]": {tracks()[2], tracks()[0]}, "[[1, 0, 1]]": {tracks()[1], tracks()[0], tracks()[1]}, "[3:]": {},
		} {
			s, err := ndarray.ParseSelection(text)
			require.NoError(t, err)
			got, err := ndarray.Take[track](ctx, a, s)
			require.NoError(t, err)
			require.Equal(t, want, got, text)
		}
	})
	t.Run("some fields of other types", func(t *testing.T) {
		type some struct {
			Cells [2][]int64 `nd:"cells"`
			ID    float64    `nd:"id"`
			Hits  []struct{ Y float64 }
		}
		_, err := ndarray.TakeAs[some](ctx, a, ndarray.Select(ndarray.At(0)))
		require.ErrorIs(t, err, ndarray.ErrType)
		require.ErrorContains(t, err, `"Hits"`)
		type less struct {
			Cells [2][]int64                `nd:"cells"`
			ID    float64                   `nd:"id"`
			Hits  []struct{ X, Y float64 }  `nd:"hits"`
			On    []bool                    `nd:"on"`
			Rest  struct{ Unused chan int } `nd:"-"`
		}
		got, err := ndarray.TakeAs[less](ctx, a, ndarray.Points([]int64{0}))
		require.NoError(t, err)
		require.Equal(t, []less{{Cells: [2][]int64{{1, -2, 3}, nil}, ID: 1, Hits: []struct{ X, Y float64 }{{1, 2}, {-3, 4.5}}, On: []bool{true, false}}}, got)
		_, err = ndarray.Take[less](ctx, a, ndarray.Points([]int64{0}))
		require.ErrorIs(t, err, ndarray.ErrType, "Take does not convert")
	})
	t.Run("overflow", func(t *testing.T) {
		type small struct {
			Cells [2][]uint8 `nd:"cells"`
		}
		err := ndarray.ReadAs(ctx, a, make([]small, 3), ndarray.Whole(a.Shape()))
		require.ErrorIs(t, err, ndarray.ErrValue)
		require.ErrorContains(t, err, `element [0]: field "cells": item 0: item 1: value does not fit: -2 is not a value of |u1`)
	})
	t.Run("put and append", func(t *testing.T) {
		require.NoError(t, ndarray.Put(ctx, a, tracks()[1:], ndarray.Select(ndarray.List(2, 0))))
		require.NoError(t, ndarray.Append(ctx, a, 0, tracks()[:1]))
		got, err := ndarray.ReadAll[track](ctx, a)
		require.NoError(t, err)
		all := tracks()
		require.Equal(t, []track{all[2], all[1], all[1], all[0]}, got)
		require.ErrorIs(t, ndarray.Put(ctx, a, all, ndarray.Select(ndarray.At(0))), ndarray.ErrSize)
	})
	t.Run("refused", func(t *testing.T) {
		whole := ndarray.Whole(a.Shape())
		bad := append(tracks(), track{Labels: []string{"a", "b\x00"}})
		err := ndarray.Write(ctx, a, bad, whole)
		require.ErrorIs(t, err, ndarray.ErrParam)
		require.ErrorContains(t, err, `element [3]: field "labels": item 1`)
		bad[3] = track{Hits: []hit{{Code: "longer"}}}
		require.ErrorIs(t, ndarray.Append(ctx, a, 0, bad), ndarray.ErrValue)
		require.ErrorIs(t, ndarray.Write(ctx, a, tracks(), whole), ndarray.ErrSize)
		require.ErrorIs(t, ndarray.Write(ctx, a, make([]hit, 4), whole), ndarray.ErrType)
		require.ErrorIs(t, ndarray.Read(ctx, a, make([]string, 4), whole), ndarray.ErrType)
		require.ErrorIs(t, ndarray.Read(ctx, a, make([]track, 4), ndarray.Region{Start: []int64{1}, Shape: []int64{4}}), ndarray.ErrRegion)
		require.Equal(t, []int64{4}, a.Shape())
	})
}

func TestReadAs_fixedStructs(t *testing.T) {
	ctx := t.Context()
	a := newMem(t, ndarray.Spec{Shape: []int64{2, 2}, DType: dtype(t, "[('a', '>i2'), ('b', '<f2', (2,)), ('s', 'S3')]")})
	type wide struct {
		A int64      `nd:"a"`
		B [2]float64 `nd:"b"`
		S string     `nd:"s"`
	}
	type half struct {
		A int16   `nd:"a"`
		B [4]byte `nd:"b"`
		S string  `nd:"s"`
	}
	whole := ndarray.Whole(a.Shape())
	require.NoError(t, ndarray.Write(ctx, a, []half{{A: 1, B: [4]byte{0, 0x3c}, S: "x"}, {A: -2}, {A: 300}, {S: "end"}}, whole))
	got, err := ndarray.TakeAs[wide](ctx, a, ndarray.Select(ndarray.All().By(-1)))
	require.NoError(t, err)
	require.Equal(t, []wide{{A: 300}, {S: "end"}, {A: 1, B: [2]float64{1}, S: "x"}, {A: -2}}, got)
	err = ndarray.WriteAs(ctx, a, []wide{{}, {}, {A: 1 << 20}, {}}, whole)
	require.ErrorIs(t, err, ndarray.ErrType, "float16 cannot be a target")
	type integers struct {
		A float64 `nd:"a"`
		B [4]byte `nd:"b"`
		S string  `nd:"s"`
	}
	err = ndarray.WriteAs(ctx, a, []integers{{}, {}, {A: 0.5}, {}}, whole)
	require.ErrorIs(t, err, ndarray.ErrValue)
	require.ErrorContains(t, err, `element [1 0]: field "a": value does not fit: 0.5 is not a value of >i2`)
	require.NoError(t, ndarray.WriteAs(ctx, a, []integers{{A: 7}, {}, {}, {}}, whole))
	type numbers struct {
		A int8 `nd:"a"`
	}
	small := make([]numbers, 4)
	require.NoError(t, ndarray.ReadAs(ctx, a, small, whole))
	require.Equal(t, []numbers{{7}, {}, {}, {}}, small)
}
