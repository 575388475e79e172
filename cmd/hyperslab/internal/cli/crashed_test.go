//go:build !windows

package cli_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestRun_crashCommands runs commands of all kinds on a virtual dataset whose number of mappings
// overflows. Each must end with the exit code of a crash and a line with the file and the library.
func TestRun_crashCommands(t *testing.T) {
	testenv.NoASan(t, "the sanitizer handles the signal")
	dir := t.TempDir()
	file := filepath.Join(dir, "mappings.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	for _, name := range []string{"s", "v"} {
		var o *h5.DatasetOptions
		space := h5.SimpleSpace(10)
		if name == "v" {
			all := h5.Region{Start: []int64{0}, Count: []int64{10}}
			o = &h5.DatasetOptions{Mappings: []h5.Mapping{{Region: all, File: file, Dataset: "/s", Source: space, SourceRegion: space.All()}}}
		}
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), space, o)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	block := b[bytes.Index(b, []byte("GCOL"))+16:] // the first object of the heap
	content := block[16:][:binary.LittleEndian.Uint64(block[8:])]
	sum := content[len(content)-4:]
	content = content[:len(content)-4]
	require.Equal(t, h5file.Lookup3(content), binary.LittleEndian.Uint32(sum))
	binary.LittleEndian.PutUint64(content[1:], 1<<61)
	binary.LittleEndian.PutUint32(sum, h5file.Lookup3(content))
	require.NoError(t, os.WriteFile(file, b, 0o600))
	const sandbox, verify = "--untrusted reads it in a sandbox", "hyperslab verify checks it in a sandbox"
	for _, tt := range []struct{ args, hint string }{
		{"ls FILE", sandbox}, {"tree FILE", sandbox}, {"info FILE:/v", sandbox}, {"stats FILE:/v", sandbox}, {"diff FILE FILE", sandbox},
		{"repack FILE new.h5", sandbox}, {"convert FILE:/v new.b2nd", sandbox}, {"attr set FILE:/v x 1", verify}, {"append FILE:/v FILE:/s", verify},
		{"index FILE -o new.json", verify}, {"plan stats FILE:/v new.json -o plan.json", verify},
	} {
		cmd := exec.Command("hyperslab", strings.Fields(strings.ReplaceAll(tt.args, "FILE", file))...)
		cmd.Dir = dir
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run() // the exit code is compared
		require.Equal(t, 5, cmd.ProcessState.ExitCode(), "%s: %s", tt.args, stderr.String())
		require.Regexp(t, `hyperslab [a-z ]+: libhdf5 crashed \(SIG[A-Z]+\) while it read `+file+"; .*"+tt.hint, stderr.String())
	}
	_, stderr, code := run("verify", file)
	require.Equal(t, 1, code, stderr)
}

// TestRun_crash lists a file that makes libhdf5 crash, in trusted mode and in a sandbox.
func TestRun_crash(t *testing.T) {
	testenv.NoASan(t, "the sanitizer handles the signal")
	file := testenv.Files(t, "HYPERSLAB_CORPUS", "hostile-hdf5/cve-2024-32609.h5")[0]
	for _, args := range [][]string{{"ls", "-r", file}, {"dump", "--ddl", file}} {
		cmd := exec.Command("hyperslab", args...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		_ = cmd.Run() // the exit code is compared
		require.Equal(t, 5, cmd.ProcessState.ExitCode(), "%v: %s", args, stderr.String())
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "%s", stderr.String())
		require.Contains(t, stderr.String(), "hyperslab "+args[0]+": libhdf5 crashed (SIGSEGV) while it read "+file)
	}
	_, stderr, code := run("ls", "-r", "--untrusted", file)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "corrupt")
}
