package main

import (
	"context"
	"encoding/binary"
	"fmt"
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

	r := result{row: row{Compare: []compare{{"peer", "ours, 2", 4}, {"peer", "gone", 1}}, Peak: map[string]int64{"ours, 2": 10}}, Timings: []*timing{
		{Name: "peer", Wall: []float64{40, 50, 60}, CPU: []float64{40, 40, 40}, Facts: map[string]string{"version": "C_1.2", "sum": "3", "stored": "4"}},
		{Name: "ours, 2", Wall: []float64{10, 20, 10}, CPU: []float64{20, 20, 20}, Peak: 11},
		{Name: "gone", Skipped: "not installed"},
	}}
	x := r.ratios()
	require.Len(t, x, 1)
	require.Equal(t, 5.0, x[0].Median)
	require.Equal(t, 2.0, x[0].CPU)
	require.True(t, x[0].Met(), "wall time, because there are two workers")
	require.Equal(t, "4× wall", x[0].bar())
	require.Len(t, r.over(), 1)
	require.Contains(t, r.line(), "ABOVE")
	require.Equal(t, "peer (C 1.2)", r.Timings[0].title())
	require.Equal(t, "stored=4", r.Timings[0].facts())

	r.Compare[0].Ours, r.Timings[1].Name = "ours, 1", "ours, 1"
	require.False(t, r.ratios()[0].Met(), "processor time, because there is one worker")
	require.Equal(t, "4× cpu", r.ratios()[0].bar())
	require.Contains(t, r.line(), "BELOW")
	r.Waits = true
	require.True(t, r.ratios()[0].Met())
	r.Waits, r.Start, r.Timings = false, "start", append(r.Timings, &timing{Name: "start", CPU: []float64{10e6}})
	r.Timings[0].CPU, r.Timings[1].CPU = []float64{30e6}, []float64{110e6}
	require.Equal(t, 0.2, r.ratios()[0].CPU, "the start is subtracted")
	r.Timings[0].CPU = []float64{11e6}
	require.Equal(t, 0.05, r.ratios()[0].CPU, "a difference of less than 5 ms counts as 5 ms")
}

// TestMeasure checks that the processes of a row run in turns, that their checksums are compared,
// and that a program that is not available is skipped.
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

func TestFiles_Equal(t *testing.T) {
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

// TestTiles checks that tiles differ from each other and that missing values remain missing.
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

// TestCopies checks that processes run concurrently with files of their own, and that the slowest
// one determines the result.
func TestCopies(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	c := task{Name: "w", Command: []string{"sh", "-c", `echo ready; while read x; do echo >>"$1"; case $1 in *.3) echo 3000 5;; *) echo 1000 5;; esac; done`, "sh", out}}
	c = c.writes(out)
	got, err := copies(context.Background(), c, 3)
	require.NoError(t, err)
	require.InDelta(t, 1.0, got, 1e-9)
	for _, path := range []string{out, out + ".2", out + ".3"} {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotEmpty(t, b)
	}
	c.Command = []string{"sh", "-c", "echo ready; exit 1"}
	_, err = copies(context.Background(), c, 2)
	require.Error(t, err)

	r := (&row{Bytes: 5, Tasks: []task{c, c, c}}).copies("work", 4)
	require.Len(t, r.Tasks, 2)
	require.Zero(t, r.Tasks[0].Copies)
	require.Equal(t, 4, r.Tasks[1].Copies)
}

// TestPairs checks that an earlier build replaces the peers.
func TestPairs(t *testing.T) {
	b := &bench{options: &options{before: "old"}, self: "self"}
	r := &row{Same: []string{"x"}, Tasks: []task{{Name: "C", Command: []string{"peer-hdf5", "read"}},
		{Name: "ours, 1", Command: []string{"self", "task", "h5read", "1"}, Env: []string{"A=1"}},
		b.silent("ls", "", command, "ls", "x.h5")}}
	b.pairs(r)
	require.Equal(t, []compare{{"before: ours, 1", "ours, 1", 0.95}, {"before: ls", "ls", 0.95}}, r.Compare)
	require.Len(t, r.Tasks, 4)
	require.Equal(t, []string{"old/bench", "task", "h5read", "1"}, r.Tasks[0].Command)
	require.Equal(t, []string{"A=1"}, r.Tasks[0].Env)
	require.Equal(t, []string{"self", "task", "h5read", "1"}, r.Tasks[1].Command)
	require.Contains(t, r.Tasks[2].Command, "old/hyperslab")
	require.Contains(t, r.Tasks[3].Command, command)
	require.Empty(t, r.Same)

	r = &row{Tasks: []task{{Name: "C", Command: []string{"peer-hdf5"}}}}
	b.pairs(r)
	require.Empty(t, r.Tasks)
}

// TestScale checks the bar of all cores against one.
func TestScale(t *testing.T) {
	b := &bench{options: new(options), all: 16}
	for _, c := range []struct {
		row  string
		task string
		want []compare
	}{
		{"read/deflate/real", "ours, 16", []compare{{"ours, 1", "ours, 16", 12.8}}},
		{"random/4KiB", "ours, 16", []compare{{"ours, 1", "ours, 16", 12.8}}},
		{"read/deflate/noise", "ours, 16", []compare{{"ours, 1", "ours, 16", 0}}},
		{"slices/b2nd", "ours, 2 goroutines", nil},
	} {
		r := &row{Name: c.row, Group: promised, Tasks: []task{{Name: "ours, 1"}, {Name: c.task}}}
		b.scale(r)
		require.Equal(t, c.want, r.Compare, c.row)
	}
}

func TestAlone(t *testing.T) {
	r := &row{Tasks: []task{{Name: "a C loop"}, {Name: "ours, 1"}, {Name: "ours, 2"}}}
	require.Equal(t, "ours, 1", r.alone("ours, 2").Name)
	require.Nil(t, r.alone("ours, 1"))
	require.Nil(t, r.alone("a C loop"))
}

func TestPerf_Top(t *testing.T) {
	const report = "# Overhead  Command  Shared Object\n#\n    83.05%  bench    bench              [.] LZ4_decompress_safe\n" +
		"     4.59%  bench    [kernel.kallsyms]  [k] finish_task_switch.isra.0\n\n     0.11%  bench    bench              [.] a (b)\n"
	top := topOfPerf(report, 2)
	require.Equal(t, " 83.05%  bench              [.] LZ4_decompress_safe\n  4.59%  [kernel.kallsyms]  [k] finish_task_switch.isra.0\n", top)
	require.Contains(t, topOfPerf(report, 9), "[.] a (b)")
	require.Empty(t, topOfPerf("nothing\n", 9))
}

func TestGrowth(t *testing.T) {
	rows := func(times ...float64) []*result {
		var out []*result
		n := int64(1)
		for _, w := range times {
			out = append(out, &result{row: row{N: n, X: sizeText(n << 10)}, Timings: []*timing{{Name: "ours", Wall: []float64{w}}}})
			n *= 10
		}
		return out
	}
	require.Equal(t, "ours: the time grows in proportion, as the power 1.00; from 1 KiB to 100 KiB it is 100 times as long, shortest at 1 KiB",
		growthOf(rows(5, 50, 500), "ours"))
	require.Contains(t, growthOf(rows(1, 100, 10000), "ours"), "faster than in proportion, as the power 2.00")
	require.Contains(t, growthOf(rows(10, 31.6, 100), "ours"), "slower than in proportion, as the power 0.50")
	require.Contains(t, growthOf(rows(7, 7, 7), "ours"), "about the same")
	require.Contains(t, growthOf(rows(100, 10, 1), "ours"), "falls, as the power -1.00; from 1 KiB to 100 KiB it is 0.01 times as long, shortest at 100 KiB")
	require.Empty(t, growthOf(rows(1, 2), "ours"))
	require.Empty(t, growthOf(rows(1, 2, 3), "gone"))

	var b strings.Builder
	r := rows(100, 50, 49)
	for _, x := range r {
		x.Group, x.Work = byUsers, "read chunks"
	}
	curves(func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }, byUsers, r)
	require.Contains(t, b.String(), "- ours: the time ")
}

// TestBelow checks the text for a row below its target: the throughput of two processes, and a
// profile.
func TestBelow(t *testing.T) {
	r := &result{row: row{Name: "x", Note: "The peer is quick.", Tasks: []task{{Name: "C"}, {Name: "ours, 1"}, {Name: "ours, 2"}}, Compare: []compare{{"C", "ours, 2", 6}}}, Timings: []*timing{
		{Name: "C", Wall: []float64{100}, CPU: []float64{100}},
		{Name: "ours, 1", Wall: []float64{40}, CPU: []float64{40}},
		{Name: "ours, 2", Wall: []float64{20}, CPU: []float64{40}, Copies: 1.9, Profiled: " 90.00%  bench  [.] inflate\n"},
	}}
	var s strings.Builder
	new(bench).below(func(format string, args ...any) { fmt.Fprintf(&s, format, args...) }, []*result{r})
	require.Contains(t, s.String(), `2 processes of "ours, 1" at once, without shared data, did 1.90× the work of one here: 2 independent workers would make the ratio 4.75×.`)
	require.Contains(t, s.String(), "It worked 40 ns on all cores: divided evenly among 2 the ratio would be 5.00×.")
	require.Contains(t, s.String(), "The peer is quick.")
	require.Contains(t, s.String(), "inflate")
}

// TestCores checks the number of cores of a task. The number is part of the task's name, and a
// separate program uses all cores.
func TestCores(t *testing.T) {
	r := &row{Tasks: []task{{Name: "C"}, {Name: "ours, 1"}, {Name: "ours, 4"}, {Name: "ours, 2 goroutines"}, {Name: "ours, synced"}, {Name: "hyperslab", Once: true}}}
	for i, want := range []int{1, 1, 4, 2, 1, 16} {
		require.Equal(t, want, r.cores(r.Tasks[i].Name, 16), r.Tasks[i].Name)
	}
}

// TestRows checks that names of rows are unique and that a row for one kind of data has a row for
// each other kind. Otherwise a result for one kind could be mistaken for a result for all kinds.
func TestRows(t *testing.T) {
	b := &bench{options: new(options), all: 2}
	names := map[string]bool{}
	for _, s := range b.specs() {
		require.False(t, names[s.name], "two rows are called %s", s.name)
		names[s.name] = true
	}
	for _, name := range []string{"read/deflate/real", "slices/blosc2-zstd", "read/b2nd", "append/20000/real", "random/4KiB", "buffer/decompress/lz4/64KiB",
		"batch/compress/zstd/4KiB", "repack/hdf5", "convert/hdf5-b2nd"} {
		stem := strings.TrimSuffix(name, "/"+string(real))
		for _, want := range []string{name, stem + "/" + string(noise), stem + "/" + string(constant)} {
			require.True(t, names[want], "no row is called %s", want)
		}
	}
}

// TestPartsReport checks the table of growth: the start is subtracted from the command's time, not
// from that of HDF5's program, and growth above the bar is marked.
func TestPartsReport(t *testing.T) {
	at := func(name string, ms float64) *timing { return &timing{Name: name, CPU: []float64{ms * 1e6}} }
	parts := func(verb string, four float64) *result {
		return &result{row: row{Group: byParts, Start: "start", Work: "links", X: verb, N: 7},
			Timings: []*timing{at("start", 20), at(atN, 30), at(at4N, four), at(peerOf+atN, 20), at(peerOf+at4N, 60)}}
	}
	var s strings.Builder
	partsReport(func(format string, args ...any) { fmt.Fprintf(&s, format, args...) }, []*result{parts("ls", 70), parts("diff", 71)})
	require.Contains(t, s.String(), "| links | 7 | ls | 10 ms | 50 ms | **5.0** | met | 20 ms | 60 ms | 3.0 |")
	require.Contains(t, s.String(), "| links | 7 | diff | 10 ms | 51 ms | **5.1** | **above** |")
}
