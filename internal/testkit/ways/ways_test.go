package ways_test

import (
	"context"
	"testing"

	"github.com/hyperslab/hyperslab/internal/need"
	"github.com/hyperslab/hyperslab/internal/testkit/ways"
)

// TestWays compares every way of the Go API with the reference libraries.
func TestWays(t *testing.T) {
	s := ways.Generate(t, need.All())
	report := s.Run(context.Background(), ways.Select(append(ways.Arrays(), ways.Remote(t, s)...)), ways.Limits)
	report.Require(t)
}
