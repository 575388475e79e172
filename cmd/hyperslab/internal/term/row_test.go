package term_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
)

func TestRow_Cells(t *testing.T) {
	for _, cells := range [][]string{
		{},
		{""},
		{"", "", ""},
		{"a", "", "β\x00\x80"},
		{strings.Repeat("x", 127), strings.Repeat("y", 128), strings.Repeat("z", 70000), "end"},
	} {
		got := term.NewRow(cells...).Cells([]string{"old", "old"})
		require.Equal(t, cells, append([]string{}, got...))
	}
}
