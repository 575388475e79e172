package cblosc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestBuildInfo_complete(t *testing.T) {
	testenv.NoASan(t, "its libraries have assertions")
	b, ok := cblosc.BuildInfo()
	if !ok {
		require.Zero(t, b)
		return
	}
	require.Len(t, b.Recipe, 64)
	require.NotEmpty(t, b.Compiler)
	require.Contains(t, b.Flags, "-DNDEBUG")
	require.Contains(t, b.Sources, "c-blosc2 "+cblosc.Version())
}
