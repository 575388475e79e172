package h5file_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

func TestAllocationType(t *testing.T) {
	for name, want := range map[string]string{
		"superblock": "superblock", "object header": "ohdr", "global heap": "gheap", "fractal heap direct block": "lheap", "fractal heap header": "ohdr",
		"extensible array data block": "lheap", "extensible array header": "ohdr", "v2 B-tree leaf": "btree", "elements": "",
	} {
		require.Equal(t, want, h5file.AllocationType(name), name)
	}
}
