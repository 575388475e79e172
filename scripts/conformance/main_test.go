package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

func TestMain(m *testing.M) {
	if err := besideTheFile(); err != nil {
		panic(err)
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// TestExternalFiles checks that external files are found, so that all elements can be compared.
func TestExternalFiles(t *testing.T) {
	tool := testenv.Tool(t, "h5dump")
	for _, file := range testenv.Files(t, testenv.HDF5Source, "tools/test/h5repack/testfiles/*_ex*.h5") {
		v, detail := judge(tool, file)
		require.Equal(t, same, v, "%s: %s", file, detail)
	}
}

// TestConformance compares the DDL of h5dump's own test files word by word.
func TestConformance(t *testing.T) {
	tool := testenv.Tool(t, "h5dump")
	files := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools", "test", "h5dump", "testfiles")
	list, err := find(files)
	require.NoError(t, err)
	counts := map[verdict]int{}
	for _, file := range list {
		v, detail := judge(tool, file)
		counts[v]++
		require.NotContains(t, []verdict{differs, unread}, v, "%s: %s", file, detail)
		if v == elsewhere {
			require.Equal(t, "trefer_ext2.h5", filepath.Base(file))
			require.Contains(t, detail, `into the file "trefer_ext1.h5"`)
		}
		if driver, _ := setOf(file); driver == "split" || driver == "multi" {
			require.Equal(t, same, v, "%s: %s", file, detail)
		}
	}
	t.Log(counts)
	require.Equal(t, 1, counts[elsewhere])
	require.Greater(t, counts[same], 130)
}

// TestWords checks that differences are found, and that the allowed differences are ignored.
func TestWords(t *testing.T) {
	require.Equal(t, words([]byte("DATA {\n   (0,0): 1, 2,\n   (1,0): 3\n}")), words([]byte("DATA {\n(0,0): 1,\n(0,1): 2, 3 }")))
	require.Equal(t, -1, firstDifference([]string{"a"}, []string{"a"}))
	require.Equal(t, 1, firstDifference([]string{"a", "b"}, []string{"a", "c"}))
	require.Equal(t, 1, firstDifference([]string{"a"}, []string{"a", "c"}))
	require.Equal(t, words([]byte(`DATASET 94010 "/d"`)), words([]byte(`DATASET 800 "/d"`)))
	require.NotEqual(t, words([]byte(`DATASET 800 "/d"`)), words([]byte(`DATASET 800 "/e"`)))
}

// TestReferences_OtherFiles checks that only references into other files are recognized as such.
func TestReferences_OtherFiles(t *testing.T) {
	require.False(t, intoOtherFile(nil))
	require.False(t, intoOtherFile(h5.ErrNotFound))
	require.False(t, intoOtherFile(errors.New("reference into the file")))
	require.True(t, intoOtherFile(fmt.Errorf("%w: standard reference into the file \"x\"", h5.ErrNotFound)))
}

// TestCompare_Empty checks that a run without any file fails.
func TestCompare_Empty(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, 1, run(&out, "h5dump", []string{t.TempDir()}, false))
	require.Contains(t, out.String(), "0 files")
	require.Equal(t, 2, run(&out, "h5dump", []string{filepath.Join(t.TempDir(), "none")}, false))
}
