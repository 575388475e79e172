// Tests of named pipes instead of files: commands must return an error at once.

package cli_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/ndarray"
)

func TestCommands_pipes(t *testing.T) {
	dir := t.TempDir()
	pipe, sound, tree := filepath.Join(dir, "pipe.h5"), filepath.Join(dir, "a.b2nd"), filepath.Join(dir, "a.bcolz")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	spec := ndarray.Spec{Shape: []int64{8}, ChunkShape: []int64{4}}
	create(t, sound, spec, count(8))
	create(t, tree, spec, count(8))
	require.NoError(t, unix.Mkfifo(filepath.Join(tree, "__rootdirs__"), 0o600)) // an optional file that a carray does not have
	require.NoError(t, unix.Mkfifo(sound+".sha256", 0o600))
	for _, args := range [][]string{
		{"ls", pipe}, {"tree", pipe}, {"info", pipe}, {"info", "--storage", pipe}, {"info", "--meta", pipe}, {"info", "--meta", tree},
		{"chunks", pipe}, {"dump", pipe}, {"stats", pipe}, {"plot", pipe}, {"explain", pipe}, {"explain", "--as", "hdf5", pipe}, {"explain", "--as", "frame", pipe},
		{"diff", pipe, sound}, {"diff", sound, pipe},
		{"verify", pipe}, {"scan", pipe}, {"verify", "--sandbox=false", pipe}, {"verify", "--sandbox=false", "--format", "hdf5", pipe},
		{"verify", "--sandbox=false", "--format", "b2nd", pipe}, {"verify", "--sandbox=false", "--format", "bcolz", pipe},
		{"verify", "--sandbox=false", "--digests", "check", sound},
		{"recover", pipe, dir + "/new"}, {"recover", "--format", "hdf5", pipe, dir + "/new"}, {"recover", "--format", "b2nd", pipe, dir + "/new"},
		{"convert", pipe, dir + "/new.b2nd"}, {"convert", "--shape", "2", "--dtype", "<i4", pipe, dir + "/new.b2nd"}, {"repack", pipe, dir + "/new.h5"},
		{"append", pipe + ":/x", sound}, {"append", sound, pipe}, {"cp", pipe + ":/x", pipe + ":/y"}, {"rm", pipe + ":/x"},
		{"attr", "set", pipe + ":/x", "units", "km"}, {"attr", "get", pipe + ":/x", "units"},
	} {
		done := make(chan struct{})
		var said string
		var code int
		go func() {
			defer close(done)
			_, said, code = run(args...)
		}()
		select {
		case <-done:
			require.Equal(t, 2, code, "%v: %s", args, said)
			require.NotEmpty(t, said, "%v", args)
		case <-time.After(5 * time.Minute): // a command that opens the pipe would wait forever
			t.Fatalf("%v waits", args)
		}
	}
}
