package crosscheck

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMisread_frames checks that the explanation of a violated rule of the frame index contains
// this rule. For a different byte that no rule explains, it must contain the offset and the chunk.
func TestMisread_frames(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named, stored := make(map[string]int), 0
	for _, c := range sampled(m, "frame") {
		if c.Must == Refuse || c.Decoded.SHA256 == "" || c.Decoded.Bytes == 0 || strings.HasPrefix(c.ID, "frame/golden/") {
			continue // the rules do not apply to chunks or blocks of variable length
		}
		err := withFrame(filepath.Join(dir, filepath.FromSlash(c.Path)), func(s *frameStored) error {
			right, err := s.read(frameMisread{})
			require.NoError(t, err, c.ID)
			require.Equal(t, c.Decoded.SHA256, hexSum(right), c.ID)
			misreadsAreNamed(t, dir, c, frameRules, s.read, named)
			right[len(right)-1] ^= 1
			x, err := Explain(dir, c, right)
			require.NoError(t, err)
			require.EqualValues(t, len(right)-1, x.Offset)
			require.EqualValues(t, len(s.offsets)-1, x.Chunk, c.ID)
			require.Empty(t, x.Rule, c.ID)
			require.NotEmpty(t, x.Stage, c.ID)
			stored++
			return nil
		})
		require.NoError(t, err, c.ID)
	}
	for _, r := range rulesToName(frameRules) {
		require.Positive(t, named[r.name], "no explanation contains the rule: %s", r.name)
	}
	require.Greater(t, stored, 5)
}
