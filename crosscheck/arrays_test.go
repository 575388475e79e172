package crosscheck

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
)

// TestMisread_tiling checks that the tiling of chunks and blocks gives the elements of the
// manifest. If a reader violates one tiling rule, the explanation must contain this rule.
func TestMisread_tiling(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named := make(map[string]int)
	placed := 0
	for _, c := range sampled(m, "b2nd", "caterva") {
		path := filepath.Join(dir, c.Path)
		if c.Must == Refuse || c.Decoded.Bytes == 0 || c.Decoded.Bytes > 20_000 {
			continue // invalid, empty, or too large for one read per rule
		}
		a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: trusted})
		require.NoError(t, err)
		g := geometry{shape: a.Shape()}
		for i := range g.shape {
			g.chunks = append(g.chunks, int64(a.ChunkShape()[i]))
			g.blocks = append(g.blocks, int64(a.Blocks()[i]))
		}
		s := a.SChunk()
		chunks := make([][]byte, s.NumChunks())
		for i := range chunks {
			chunks[i] = make([]byte, s.ChunkSize())
			_, err := s.DecompressChunk(chunks[i], int64(i))
			require.NoError(t, err)
		}
		item := a.ItemSize()
		require.NoError(t, a.Close())
		right := g.tile(chunks, item, func(g geometry, _, in []int64) int64 { return g.position(in) })
		require.Equal(t, c.Decoded.SHA256, hexSum(right), c.ID)
		misreadsAreNamed(t, dir, c, arrayRules, func(at tiling) ([]byte, error) { return g.tile(chunks, item, at), nil }, named)
		right[len(right)-1] ^= 1
		x, err := Explain(dir, c, right)
		require.NoError(t, err)
		require.EqualValues(t, len(right)-1, x.Offset)
		require.Empty(t, x.Rule, c.ID)
		require.NotEmpty(t, x.Stage)
		require.EqualValues(t, len(chunks)-1, x.Chunk)
		for i, n := range g.shape {
			require.Equal(t, n-1, x.Index[i])
		}
		placed++
	}
	for _, r := range rulesToName(arrayRules) {
		require.Positive(t, named[r.name], "no explanation contains the rule: %s", r.name)
	}
	require.Positive(t, placed)
}
