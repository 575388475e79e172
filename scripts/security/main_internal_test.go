package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFill(t *testing.T) {
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile("../../docs/" + name + ".md")
			require.NoError(t, err)
			want, err := fill(string(b), name, table())
			require.NoError(t, err)
			require.Equal(t, want, string(b), "go run ./scripts/security")
		})
	}
	t.Run("no marks", func(t *testing.T) {
		_, err := fill("no marks", "defects", "")
		require.Error(t, err)
	})
}
