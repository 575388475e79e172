//go:build !race

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// TestPlan_memory plans for 10 TiB in 10 million chunks.
func TestPlan_memory(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{10_000_000, 1024, 128}, ChunkShape: []int64{1, 1024, 128}, DType: ndarray.DTypeOf[float64]()}
	sources := []string{"a.h5:/x", "a.b2nd"}
	if !testenv.All() {
		sources = sources[:1]
	}
	for _, source := range sources {
		d, err := hyperslab.Create(t.Context(), filepath.Join(dir, source), spec, nil)
		require.NoError(t, err)
		require.NoError(t, d.Commit(t.Context()))
		for i, args := range [][]string{{"convert", "--chunks", "1,1024,128"}, {"rechunk", "--chunks", "8192,16,1"}} {
			t.Run(args[0]+" "+source, func(t *testing.T) {
				target := strings.Replace(source, "a.", fmt.Sprintf("b%d.", i), 1)
				file := filepath.Join(t.TempDir(), "plan.json")
				command := append([]string{"plan", args[0], filepath.Join(dir, source), filepath.Join(dir, target), "-o", file}, args[1:]...)
				begun := time.Now()
				out, err := exec.Command("peak", command...).CombinedOutput()
				require.NoError(t, err, string(out))
				m := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(out)
				require.NotNil(t, m, string(out))
				peak, err := strconv.ParseInt(string(m[1]), 10, 64)
				require.NoError(t, err)
				t.Logf("%d MiB, %v", peak>>10, time.Since(begun))
				require.Less(t, peak, int64(512<<10))
			})
		}
	}
}

// TestWork_memory checks that work and commit use at most the memory of their plan for an array
// that is several times larger.
func TestWork_memory(t *testing.T) {
	dir := t.TempDir()
	planes := int64(48) // of 8 MiB each
	if testenv.All() {
		planes = 128
	}
	source := filepath.Join(dir, "big.b2nd")
	planesOf8MiB(t, source, planes)
	high := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)
	bucketFor(t, nil)
	all := [][]string{
		{"convert", source, filepath.Join(dir, "out.h5:/x"), "--codec", "lz4"},
		{"convert", source, filepath.Join(dir, "compact.h5:/x"), "--compact"},
		{"convert", source, "s3://data/out.h5:/x", "--compact"},
		{"rechunk", source, filepath.Join(dir, "out.b2nd"), "--chunks", "16,64,256"},
		{"copy", source, filepath.Join(dir, "copy.b2nd"), "--shard-bytes", "64MiB"},
		{"convert", source, filepath.Join(dir, "sparse.b2nd"), "--sparse"},
		{"convert", source, "s3://data/sparse.b2nd", "--sparse"},
		{"repack", source, "s3://data/out.b2nd", "--codec", "lz4"},
		{"checksum", source, filepath.Join(dir, "out.json")},
		{"verify", source, filepath.Join(dir, "verify.json")},
		{"stats", source, "s3://data/stats.json"},
	}
	if testenv.All() {
		many := filepath.Join(dir, "many.h5:/x")
		create(t, many, ndarray.Spec{Shape: []int64{300_000, 16}, ChunkShape: []int64{1, 16}}, slices.Repeat([]int32{1, 2, 3, 4, 5, 6, 7, 8}, 600_000))
		all = append(all, []string{"convert", many, filepath.Join(dir, "many.b2nd"), "--chunks", "1,16", "--shard-bytes", "2MiB"},
			[]string{"repack", many, filepath.Join(dir, "many2.h5:/x"), "--codec", "none", "--compact"},
			[]string{"checksum", many, filepath.Join(dir, "many.json"), "--chunks", "1,16", "--shard-bytes", "2MiB"})
	}
	for i, args := range all {
		if !testenv.All() && i%4 != 0 {
			continue
		}
		t.Run(args[0]+" to "+filepath.Base(args[2]), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan.json")
			stdout, stderr, code := run(append([]string{"plan", "-M", "48MiB", "-j", "2", "-o", file, "--json"}, args...)...)
			require.Zero(t, code, stderr)
			var p plan.Plan
			require.NoError(t, json.Unmarshal([]byte(stdout), &p))
			if args[1] == source {
				require.Less(t, p.ProcessMemory, p.Source.Bytes)
			}
			for _, command := range [][]string{{"work", file, "--all", "-q"}, {"commit", file, "-q"}} {
				out, err := exec.Command("peak", command...).CombinedOutput()
				require.NoError(t, err, string(out))
				m := high.FindSubmatch(out)
				require.NotNil(t, m, string(out))
				peak, err := strconv.ParseInt(string(m[1]), 10, 64)
				require.NoError(t, err)
				t.Logf("%s: %d MiB of %d", command[0], peak>>10, p.ProcessMemory>>20)
				require.Less(t, peak<<10, p.ProcessMemory)
			}
			_, err := os.Stat(file)
			require.NoError(t, err)
		})
	}
}
