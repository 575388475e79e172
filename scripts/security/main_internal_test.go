package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFill(t *testing.T) {
	t.Run("current page", func(t *testing.T) {
		b, err := os.ReadFile("../../docs/advisories.md")
		require.NoError(t, err)
		want, err := fill(string(b))
		require.NoError(t, err)
		require.Equal(t, want, string(b), "go run ./scripts/security")
	})
	t.Run("no marks", func(t *testing.T) {
		_, err := fill("no marks")
		require.Error(t, err)
	})
}
