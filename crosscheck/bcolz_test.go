package crosscheck

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMisread_bcolz checks that the explanation of a violated bcolz rule contains this rule. For
// a different byte that no rule explains, it must contain the offset, the chunk and the stage.
func TestMisread_bcolz(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named := make(map[string]int)
	for _, c := range sampled(m, "bcolz") {
		if c.Must == Refuse || c.Decoded.Bytes == 0 {
			continue
		}
		s, err := loadBcolz(filepath.Join(dir, c.Path), c.Object)
		require.NoError(t, err, c.ID)
		right := s.read(bcolzMisread{})
		require.Equal(t, c.Decoded.SHA256, hexSum(right), c.ID)
		misreadsAreNamed(t, dir, c, bcolzRules, func(m bcolzMisread) ([]byte, error) { return s.read(m), nil }, named)
		right[len(right)-1] ^= 1
		x, err := Explain(dir, c, right)
		require.NoError(t, err)
		require.EqualValues(t, len(right)-1, x.Offset, c.ID)
		require.EqualValues(t, len(s.files)-1, x.Chunk, c.ID)
		require.Empty(t, x.Rule, c.ID)
		require.NotEmpty(t, x.Stage)
	}
	for _, r := range rulesToName(bcolzRules) {
		require.Positive(t, named[r.name], "no explanation contains the rule: %s", r.name)
	}
}
