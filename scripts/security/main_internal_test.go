package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page says what the tables say.
func TestPageIsCurrent(t *testing.T) {
	b, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	want, err := fill(string(b))
	require.NoError(t, err)
	require.Equal(t, want, string(b), "go run ./scripts/security")
	_, err = fill("no marks")
	require.Error(t, err)
}
