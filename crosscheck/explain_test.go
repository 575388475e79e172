package crosscheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every sound chunk, stage by stage, gives what the reference gives; and a reader
// that misreads one rule is caught by at least one vector, which names that rule.
func TestMisreadRulesAreCaughtAndNamed(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	caught := make(map[string]int)
	named := make(map[string]int)
	for _, c := range sampled(m, "chunk", "blosc1") {
		if c.Must == Refuse {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.Path))
		require.NoError(t, err)
		blocks, err := stages(b, misread{})
		require.NoError(t, err, c.ID)
		want := valuesOf(blocks)
		if c.Decoded.SHA256 == "" {
			require.EqualValues(t, c.Decoded.Bytes, len(want), c.ID)
			continue
		}
		require.Equal(t, c.Decoded.SHA256, hexSum(want), c.ID)
		x, err := ExplainChunk(b, want)
		require.NoError(t, err)
		require.EqualValues(t, -1, x.Offset, c.ID)
		require.Equal(t, "no difference", x.String())

		if strings.Contains(c.ID, "/sweep/") && c.Params["typesize"] != "29" {
			continue // read right; one of them is enough to misread
		}
		for _, r := range chunkRules {
			wrong, err := stages(b, r.m)
			if err != nil {
				caught[r.name]++ // this reader stops here
				continue
			}
			got := valuesOf(wrong)
			if hexSum(got) == c.Decoded.SHA256 {
				continue
			}
			caught[r.name]++
			x, err := ExplainChunk(b, got)
			require.NoError(t, err)
			require.NotEmpty(t, x.Stage, c.ID)
			if x.Rule == r.name {
				named[r.name]++
				require.Contains(t, x.String(), r.sentence)
			}
			// Another rule may give the same bytes here; then its stage is as right.
			require.NotEmpty(t, x.Rule, "%s: %s", c.ID, r.name)
		}
	}
	for _, r := range rulesToName(chunkRules) {
		require.Positive(t, caught[r.name], "no vector catches: %s", r.name)
		require.Positive(t, named[r.name], "no vector names: %s", r.name)
	}
}

// An answer that no one rule explains is still placed.
func TestAFlippedByteIsPlaced(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	placed := 0
	for _, c := range inAreas(m, "chunk") {
		if c.Params["length"] != "tail" || c.Params["filters"] != "shuffle" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.Path))
		require.NoError(t, err)
		blocks, err := stages(b, misread{})
		require.NoError(t, err)
		got := valuesOf(blocks)
		if len(blocks) < 2 {
			continue
		}
		n := len(valuesOf(blocks[:1]))
		got[n+1] ^= 0x40
		x, err := ExplainChunk(b, got)
		require.NoError(t, err)
		require.EqualValues(t, n+1, x.Offset)
		require.Equal(t, 1, x.Block)
		require.EqualValues(t, 1, x.Differ)
		require.GreaterOrEqual(t, x.Stream, 0)
		require.Empty(t, x.Rule)
		placed++

		x, err = ExplainChunk(b, got[:n])
		require.NoError(t, err)
		require.EqualValues(t, n, x.Offset)
		require.Contains(t, x.String(), "the reference gives")
	}
	require.Positive(t, placed)
}
