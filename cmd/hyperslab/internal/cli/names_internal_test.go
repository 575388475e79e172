package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

// TestOtherNames checks that each suggested command exists, and that no command has the other name.
func TestOtherNames(t *testing.T) {
	root := newRoot(new(shell.App))
	for name, command := range shell.OtherNames {
		words := strings.Fields(command)
		found, _, err := root.Find(words)
		require.NoError(t, err)
		require.Equal(t, words[0], found.Name())
		found, _, err = root.Find([]string{name})
		require.NoError(t, err)
		require.Equal(t, root, found, name)
	}
}
