package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// logs are the logs of two processes in the format of gcc 12. The second process was aborted.
var logs = []string{
	`../../src/hdf5/src/H5Tconv.c:123:9: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'
src/c-blosc2/blosc/x.c:7:1: runtime error: -1.5e+300 is outside the range of representable values of type 'float'
    #0 0x49b70f in encode x.c:7
    #1 0x617817 in main x.c:90

../../src/hdf5/src/H5FDint.c:2394:1: runtime error: index 0 out of bounds for type 'assertion addr <= 7 && file'
`,
	`../../src/hdf5/src/H5Tconv.c:123:9: runtime error: signed integer overflow: -9 + -2147483648 cannot be represented in type 'int'
h5/shim.c:4:48: runtime error: store to address 0x602000000034 with insufficient space for an object of type 'char'
0x602000000034: note: pointer points here
=================================================================
==854==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000034 at pc 0x000000617818
    #0 0x49b70f in __interceptor_memcpy (/tmp/x+0x49b70f)
    #1 0x617817 in over h5/shim.c:4
    #2 0x617681 in main h5/main.c:9
`,
}

func read(t *testing.T, strs ...string) said {
	dir := t.TempDir()
	for i, text := range strs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(rune('a'+i))), []byte(text), 0o600))
	}
	s, err := readLogs(dir)
	require.NoError(t, err)
	return s
}

func TestReports(t *testing.T) {
	const (
		overflow = "hdf5/src/H5Tconv.c:123: signed integer overflow: N + N cannot be represented in type 'int'"
		outside  = "c-blosc2/blosc/x.c:7: N is outside the range of representable values of type 'float'"
		failed   = "hdf5/src/H5FDint.c:2394: failed: assert(addr <= N && file)"
		ours     = "h5/shim.c:4: store to address N with insufficient space for an object of type 'char'"
	)
	s := read(t, logs...)
	require.Equal(t, map[string]int{overflow: 2, outside: 1, failed: 1, ours: 1}, s.undefined)
	require.Equal(t, map[string]int{"heap-buffer-overflow in over h5/shim.c:4": 1}, s.memory)
	all := map[string]bool{overflow: true, outside: true, failed: true, ours: true}
	var b strings.Builder
	require.False(t, s.write(&b, all), "a fault of memory is never known")
	require.Contains(t, b.String(), "#1 0x617817 in over h5/shim.c:4")

	s = read(t, logs[0])
	require.True(t, s.write(&b, all))
	b.Reset()
	require.False(t, s.write(&b, map[string]bool{overflow: true}))
	require.Contains(t, b.String(), "not in the list (1 processes): "+outside+"\n    #0 0x49b70f in encode x.c:7\n    #1 0x617817 in main x.c:90\n")
}

// TestCheckFailed checks that an internal error of a sanitizer counts as a failure.
func TestCheckFailed(t *testing.T) {
	s := read(t, "AddressSanitizer: CHECK failed: lsan_common.cpp:130 \"((suppression_ctx)) != (0)\" (0x0, 0x0) (tid=29285)\n")
	require.False(t, s.write(&strings.Builder{}, nil))
	require.Len(t, s.memory, 1)
}

// TestKnownFindings checks that each row of known.txt is a location in a pinned library, without
// duplicates.
func TestKnownFindings(t *testing.T) {
	known, err := readKnown("known.txt")
	require.NoError(t, err)
	for k := range known {
		require.Regexp(t, `^(c-blosc2|hdf5|zfp)/[^:]+\.[ch]:[0-9]+: `, k)
		place, text, _ := strings.Cut(k, ": ")
		require.Equal(t, k, kind("../src/"+place+":1", text))
	}
	twice := filepath.Join(t.TempDir(), "twice")
	require.NoError(t, os.WriteFile(twice, []byte("# a\nx: y\n\nx: y\n"), 0o600))
	_, err = readKnown(twice)
	require.ErrorContains(t, err, "twice: x: y")
	_, err = readLogs(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
