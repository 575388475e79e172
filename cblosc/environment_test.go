package cblosc_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestEnvironment checks that environment variables neither change a byte nor cause output.
func TestEnvironment(t *testing.T) {
	const child, marker = "CBLOSC_TEST_ENVIRONMENT", "chunk: "
	src, dst := bytes.Repeat([]byte("abcdefgh"), 500), make([]byte, cblosc.MaxCompressedSize(4000))
	c, err := cblosc.NewCompressor(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	n, err := c.Compress(dst, src)
	require.NoError(t, err)
	chunk := hex.EncodeToString(dst[:n])
	if os.Getenv(child) != "" {
		// This call fails in C-Blosc2, which can print a diagnostic.
		_, err = c.Compress(dst[:40], testutil.Noise(4000, 1))
		require.Error(t, err)
		_, err := os.Stdout.WriteString("\n" + marker + chunk + "\n")
		require.NoError(t, err)
		return
	}
	cmd := testenv.Self("-test.run=^TestEnvironment$")
	cmd.Env = append(os.Environ(), child+"=1", "BLOSC_TRACE=1", "BLOSC_INFO=1", "BLOSC_WARN=1", "BLOSC_CLEVEL=0", "BLOSC_COMPRESSOR=zstd", "BLOSC_SHUFFLE=NOSHUFFLE",
		"BLOSC_TYPESIZE=3", "BLOSC_BLOCKSIZE=64", "BLOSC_NTHREADS=4", "BTUNE_TRADEOFF=0.5")
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	require.NoError(t, cmd.Run(), "%s%s", &out, &diagnostics)
	require.Empty(t, diagnostics.String())
	_, rest, _ := strings.Cut(out.String(), marker)
	got, _, _ := strings.Cut(rest, "\n")
	require.Equal(t, chunk, got)
}
