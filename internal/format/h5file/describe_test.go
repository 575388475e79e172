package h5file_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// depth returns the number of levels of a description.
func depth(f format.Field) int {
	deepest := 0
	for _, sub := range f.Fields {
		deepest = max(deepest, depth(sub))
	}
	return deepest + 1
}

// TestDescribe_filteredHeap checks the description of messages in filtered heap blocks. They have
// no bytes in the file and must be siblings.
func TestDescribe_filteredHeap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	level := 6
	g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{Deflate: &level, Phase: &h5.PhaseChange{}})
	require.NoError(t, err)
	for i := range 200 {
		require.NoError(t, g.LinkSoft(fmt.Sprintf("link %d", i), "a"))
	}
	require.NoError(t, g.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Less(t, depth(h5file.Describe(bytes.NewReader(b), int64(len(b)))), 10)
}
