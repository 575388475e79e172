package crosscheck

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ReadBroken is the child process of TestHDF5_invalidFiles. It reads the files of the list in
// order and prints the name of each file before it reads the file, because some files crash it.
func ReadBroken(list string) int {
	b, err := os.ReadFile(list)
	if err != nil {
		return 3
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		name, object, _ := strings.Cut(line, "\t")
		fmt.Println("at", name)
		if _, err := decodeHDF5(name, object); err == nil {
			fmt.Println("accepts", name)
		}
	}
	return 0
}

// TestHDF5_invalidFiles checks the table hdf5Verdicts against libhdf5. Each invalid file that is a
// vector must be refused by libhdf5 or crash it. A file that libhdf5 accepts must not be a vector.
func TestHDF5_invalidFiles(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	scratch := t.TempDir()
	var names, lines []string
	checked := make(map[string]bool)
	for _, base := range hdf5BreakBases {
		i := slices.IndexFunc(m.Cases, func(c Case) bool { return c.ID == base })
		require.GreaterOrEqual(t, i, 0, base)
		require.NoError(t, eachBrokenHDF5(dir, m.Cases[i], func(c Case, b []byte) error {
			path := filepath.Join(scratch, fmt.Sprint(len(names))+".h5")
			names, lines = append(names, strings.TrimPrefix(c.ID, hdf5Refusals)), append(lines, path+"\t"+c.Object)
			checked[names[len(names)-1]] = checkHDF5(b) != nil
			return os.WriteFile(path, b, 0o644)
		}))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	got := make(map[string]string)
	var crashes []string // varies from run to run, because some files corrupt memory
	for at := 0; at < len(lines); {
		list := filepath.Join(scratch, "list")
		require.NoError(t, os.WriteFile(list, []byte(strings.Join(lines[at:], "\n")), 0o644))
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "CROSSCHECK_TEST_READER=judge", "CROSSCHECK_TEST_LIST="+list)
		out, err := cmd.Output()
		last := at
		output := bufio.NewScanner(bytes.NewReader(out))
		for output.Scan() {
			word, path, _ := strings.Cut(output.Text(), " ")
			var k int
			_, err := fmt.Sscanf(filepath.Base(path), "%d.h5", &k)
			require.NoError(t, err)
			last = k
			if word == "accepts" {
				got[names[k]] = "accepts"
			}
		}
		if err == nil {
			break
		}
		crashes = append(crashes, names[last])
		at = last + 1
	}
	for name, ok := range checked {
		if !ok && got[name] == "" {
			got[name] = "only libhdf5"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if hdf5Verdicts[name] != got[name] {
			t.Logf("%q: %q,", name, got[name])
		}
	}
	require.Equal(t, hdf5Verdicts, got)
	t.Logf("%d invalid files, %d of them are not vectors; libhdf5 crashed on %d in this run: %v", len(names), len(got), len(crashes), crashes)
}
