package ways

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSpecify_documented compares the numbers in README with the set.
func TestSpecify_documented(t *testing.T) {
	arrays := 0
	for _, f := range specify(false) {
		arrays += len(f.Arrays)
	}
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	text := "more than 1,400 generated arrays"
	require.Contains(t, string(readme), text)
	require.Greater(t, arrays, 1400, text)
	require.LessOrEqual(t, arrays, 1600, text)
}
