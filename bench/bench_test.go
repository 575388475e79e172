package main

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStatistics(t *testing.T) {
	require.Equal(t, 3.0, median([]float64{9, 1, 3}))
	require.Equal(t, 2.5, median([]float64{4, 1, 2, 3}))
	low, high := spread([]float64{8, 1, 2, 3, 4, 5, 6, 7})
	require.Equal(t, []float64{3, 6}, []float64{low, high})

	r := result{row: row{Compare: []compare{{"peer", "ours", 4}, {"peer", "gone", 1}}, Peak: map[string]int64{"ours": 10}}, Timings: []*timing{
		{Name: "peer", Wall: []float64{40, 50, 60}, CPU: []float64{40, 40, 40}},
		{Name: "ours", Wall: []float64{10, 20, 10}, CPU: []float64{20, 20, 20}, Peak: 11},
		{Name: "gone", Skipped: "not installed"},
	}}
	x := r.ratios()
	require.Len(t, x, 1)
	require.Equal(t, 5.0, x[0].Median)
	require.Equal(t, 2.0, x[0].CPU)
	require.True(t, x[0].Met())
	require.Len(t, r.over(), 1)
	require.Contains(t, r.line(), "ABOVE")
	r.Compare[0].Bar = 5.1
	require.Contains(t, r.line(), "BELOW")
}

// Children take turns, their facts are compared, and one that is missing is skipped.
func TestMeasure(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	sh := func(name, script string) task { return task{Name: name, Command: []string{"sh", "-c", script}} }
	say := func(name, sum string) task {
		return sh(name, `echo ready; while read x; do echo `+name+` >>`+log+`; echo "1000 500 sum=`+sum+`"; done`)
	}
	b := &bench{options: &options{runs: 3}}
	res, err := b.measure(context.Background(), &row{Tasks: []task{say("a", "1"), say("b", "1"), sh("c", "exit 42"), {Name: "d", Command: []string{""}}}})
	require.NoError(t, err)
	require.Equal(t, []float64{1000, 1000, 1000}, res.timing("a").Wall)
	require.Positive(t, res.timing("b").Peak)
	require.Nil(t, res.timing("c"))
	require.Nil(t, res.timing("d"))
	turns, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(turns), "a\n"))
	require.Contains(t, string(turns), "a\nb\n")

	_, err = b.measure(context.Background(), &row{Tasks: []task{say("a", "1"), say("b", "2")}})
	require.ErrorContains(t, err, "checksum")
	_, err = b.measure(context.Background(), &row{Tasks: []task{sh("e", "echo ready; exit 1")}})
	require.Error(t, err)
}

func TestSameFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	x, y, z := write("x", "1"), write("y", "1"), write("z", "2")
	require.NoError(t, sameFiles([]string{x, y}))
	require.ErrorContains(t, sameFiles([]string{x, y, z}), "differ")
	require.Error(t, sameFiles([]string{x, filepath.Join(dir, "none")}))
}

// Tiles differ from each other, and what is missing stays missing.
func TestTiles(t *testing.T) {
	x := &field{shape: [3]int64{1, 2, 8}, values: make([]float32, 16)}
	for i := range x.values {
		x.values[i] = float32(i)
	}
	x.values[3] = -1e34
	a, b := make([]byte, 64), make([]byte, 64)
	x.tile(a, 0)
	x.tile(b, 1)
	require.NotEqual(t, a, b)
	missing := func(p []byte) int {
		n := 0
		for ; len(p) > 0; p = p[4:] {
			if math.Float32frombits(binary.LittleEndian.Uint32(p)) == -1e34 {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, missing(a))
	require.Equal(t, 1, missing(b))
}
