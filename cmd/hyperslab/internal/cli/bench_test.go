package cli_test

import (
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trialRow is a row of the JSON document.
type trialRow struct {
	Codec  string
	Level  int
	Chunks []int64
	Ratio  float64
	Stored int64   `json:"stored_bytes"`
	Write  float64 `json:"compress_mb_per_s"`
	Read   float64 `json:"decompress_mb_per_s"`
}

// TestBench checks that every combination is measured once, that the recommended row is the best
// one for the goal, and that convert with the flags of that row uses its codec and chunk shape.
func TestBench(t *testing.T) {
	dir := field(t)
	t.Chdir(dir)
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch) // the directory of the trials
	for _, c := range []struct {
		args string
		rows int
	}{
		{"waves.b2nd --codec lz4,zstd,none --level 1,5 --shuffle none,byte,bit --chunks 10,30 --chunks 4x4 --for ratio", 2 * (2*2*3 + 3)},
		{"waves.b2nd --level 1 --for speed", 4 * 2 * 2},
		{"etopo.h5:/ROSE --codec lz4,zstd,none --level 1,9 --for speed --seconds 0.01", 2*2*2 + 2},
		{"etopo.h5:/ROSE --codec lz4,zstd --level 1 --storage 3 --seconds 0.01", 2 * 2},
		{"etopo.h5:/ROSE[1:, :] --format hdf5 --codec deflate,lzf,bitshuffle/lz4,blosc2/lz4 --level 1,30 --sample 20KiB --for ratio", 2*2 + 2 + 1 + 2*2},
		{"scalar.b2nd[None] --codec zstd --level 3 --shuffle byte --format b2nd", 1},
	} {
		picture := filepath.Join(dir, "bench.png")
		stdout, stderr, code := run(append(strings.Fields("bench --seconds 0 --json --force --plot "+picture), fields(c.args)...)...)
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
		var doc struct {
			Rows    []trialRow
			Storage float64 `json:"storage_mb_per_s"`
			Bytes   int64   `json:"sample_bytes"`
			Best    int
			Flags   string
			Goal    string
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		require.Len(t, doc.Rows, c.rows, "%s\n%s", c.args, stdout)
		best := doc.Rows[doc.Best]
		saves := slices.ContainsFunc(doc.Rows, func(r trialRow) bool { return r.Ratio >= 1/0.9 })
		cost := func(r trialRow) float64 { // as in the help text
			work := 1/r.Write + 1/r.Read
			switch {
			case doc.Goal == "ratio":
				return -r.Ratio
			case doc.Goal == "balance":
				return work + 2/(r.Ratio*doc.Storage)
			case saves && r.Ratio < 1/0.9:
				return math.Inf(1)
			}
			return work
		}
		for _, r := range doc.Rows {
			require.Positive(t, r.Write)
			require.Positive(t, r.Read)
			require.InDelta(t, float64(doc.Bytes)/float64(r.Stored), r.Ratio, 1e-3)
			require.LessOrEqual(t, cost(best), cost(r), "%s: %+v is better than %+v", c.args, r, best)
		}
		b, err := os.Open(picture)
		require.NoError(t, err)
		image, err := png.Decode(b)
		require.NoError(t, b.Close())
		require.NoError(t, err)
		require.Equal(t, 900, image.Bounds().Dx())
		if strings.HasPrefix(c.args, "waves.b2nd") {
			_, stderr, code = run(append(strings.Fields("convert waves.b2nd new.b2nd -q -f"), strings.Fields(doc.Flags)...)...)
			require.Zero(t, code, "%s: %s", doc.Flags, stderr)
			info, _, _ := run("info", "new.b2nd")
			require.Contains(t, info, fmt.Sprintf("codec       %s\n", best.Codec))
			require.Contains(t, info, fmt.Sprintf("chunks      %dx%d ", best.Chunks[0], best.Chunks[1]))
		}
		left, err := os.ReadDir(scratch)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	stdout, stderr, code := run(strings.Fields("bench waves.b2nd --codec zstd,lz4 --level 5 --shuffle byte --seconds 0 --for ratio")...)
	require.Zero(t, code)
	require.Regexp(t, `(?m)^->  `, stdout)
	require.Regexp(t, `^for ratio: --codec (zstd|lz4) --level 5 --shuffle byte --chunks \d+,\d+\n$`, stderr)
}

// fields splits a line into words. The first word may contain spaces between brackets.
func fields(line string) []string {
	if at := strings.Index(line, "]"); at >= 0 {
		return append([]string{line[:at+1]}, strings.Fields(line[at+1:])...)
	}
	return strings.Fields(line)
}
