// Tests of small files whose metadata specifies a very large number of chunks.

package cli_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestChunks_Empty checks that chunks that are not stored use no memory either: the command
// chunks lists a large number of them only on request.
func TestChunks_Empty(t *testing.T) {
	t.Chdir(t.TempDir())
	const n = 1<<18 + 10
	d, err := hyperslab.Create(context.Background(), "a.b2nd", ndarray.Spec{Shape: []int64{n * 4}, DType: ndarray.DTypeOf[uint8](), ChunkShape: []int64{4}}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Commit(context.Background()))
	info, err := os.Stat("a.b2nd")
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(100_000))
	for _, more := range [][]string{nil, {"--json"}, {"--untrusted", "--sandbox=false"}} {
		stdout, stderr, code := run(append([]string{"chunks", "a.b2nd"}, more...)...)
		require.Equal(t, 2, code)
		require.Empty(t, stdout)
		require.Contains(t, stderr, "a.b2nd has 262154 chunks, of which more than 262144 are not stored; -n N lists the first N")
	}
	stdout, stderr, code := run("chunks", "a.b2nd", "-n", "3")
	require.Zero(t, code)
	require.Equal(t, 4, strings.Count(stdout, "\n"))
	require.Contains(t, stderr, "3 of 262154 chunks")
	for _, line := range []string{"info a.b2nd", "ls -l a.b2nd", "dump a.b2nd[0:3]"} {
		_, stderr, code := run(strings.Fields(line)...)
		require.Zero(t, code, stderr)
	}
}
