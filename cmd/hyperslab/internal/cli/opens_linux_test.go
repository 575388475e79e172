package cli_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// opened returns how often any process opens file while do runs (inotify(7)).
func opened(t *testing.T, file string, do func()) (n int) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	// inotify merges two equal events if there is no other event between them. So also watch the
	// events that separate two openings.
	_, err = unix.InotifyAddWatch(fd, file, unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CLOSE)
	require.NoError(t, err)
	do()
	b := make([]byte, 1<<20)
	length, err := unix.Read(fd, b)
	if errors.Is(err, unix.EAGAIN) {
		return 0 // no events
	}
	require.NoError(t, err)
	for b = b[:length]; len(b) > 0; { // struct inotify_event: wd, mask, cookie, len, name
		mask := binary.NativeEndian.Uint32(b[4:])
		require.Zero(t, mask&unix.IN_Q_OVERFLOW)
		if mask&unix.IN_OPEN != 0 {
			n++
		}
		b = b[unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])):]
	}
	return n
}

// TestCommands_opens checks how often a command opens a file. A read opens an HDF5 file once in Go,
// to detect its format, to check it and to read chunks, and once in libhdf5. It opens other files
// once. cp and repack open these once more, because the format decides how they are copied.
func TestCommands_opens(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("convert", "tree.h5:/time", "a.b2nd")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", "tree.h5:/time", "a.npy")
	require.Zero(t, code, stderr)
	for _, c := range []struct {
		line, file string
		want       int
	}{
		{"stats tree.h5:/time", "tree.h5", 2},
		{"info tree.h5:/time", "tree.h5", 2},
		{"info tree.h5:/time[:3]", "tree.h5", 2},
		{"info tree.h5", "tree.h5", 2},
		{"info tree.h5 --meta", "tree.h5", 2},
		{"info a.b2nd", "a.b2nd", 1},
		{"info a.b2nd --meta", "a.b2nd", 1},
		{"info a.npy", "a.npy", 1},
		{"ls -r tree.h5", "tree.h5", 2},
		{"attr tree.h5", "tree.h5", 2},
		{"attr tree.h5:/time", "tree.h5", 2},
		{"diff tree.h5:/time tree.h5:/time", "tree.h5", 4}, // twice for each operand
		{"diff tree.h5:/time[:3] tree.h5:/time[:3]", "tree.h5", 4},
		{"diff tree.h5 tree.h5", "tree.h5", 4},
		{"diff a.b2nd tree.h5:/time", "a.b2nd", 1},
		{"diff a.b2nd[:3] tree.h5:/time[:3]", "a.b2nd", 1},
		{"diff a.b2nd a.npy --values-only", "a.npy", 1},
		{"attr a.b2nd", "a.b2nd", 1},
		{"info tree.h5 --storage", "tree.h5", 1},
		{"info a.b2nd --storage", "a.b2nd", 1},
		{"info a.npy --storage", "a.npy", 1},
		{"dump a.b2nd", "a.b2nd", 1},
		{"convert a.b2nd b.npy", "a.b2nd", 1},
		{"convert a.b2nd b.b2nd --codec lz4", "a.b2nd", 1},
		{"convert a.b2nd a.h5:/x", "a.b2nd", 1},
		{"cp a.b2nd cp.b2nd", "a.b2nd", 2},
		{"cp a.b2nd a.h5:/y", "a.b2nd", 2},
		{"repack a.b2nd d.b2nd --codec lz4", "a.b2nd", 2},
		{"ls a.b2nd", "a.b2nd", 1},
		{"explain tree.h5", "tree.h5", 1},
		{"explain tree.h5:/time", "tree.h5", 1},
		{"explain a.b2nd", "a.b2nd", 1},
		{"recover tree.h5 saved.h5", "tree.h5", 1},
		{"recover a.b2nd saved.b2nd", "a.b2nd", 1},
		{"stats a.b2nd", "a.b2nd", 1},
		{"stats a.npy", "a.npy", 1},
		{"chunks waves.h5:/waves", "waves.h5", 2},
		{"chunks a.b2nd", "a.b2nd", 1},
		{"dump tree.h5:/run1/temperature --csv --coords", "tree.h5", 2},
		{"dump tree.h5 --ddl", "tree.h5", 2},
		{"plot tree.h5:/run1/temperature -o plot.png", "tree.h5", 2},
		{"convert tree.h5:/time o.b2nd", "tree.h5", 2},
		{"convert tree.h5:/time[:3] o.h5:/x", "tree.h5", 2},
		{"convert tree.h5:/time p.h5:/x --dry-run", "tree.h5", 2},
		{"convert tree.h5 all.h5", "tree.h5", 2},
		{"repack tree.h5 smaller.h5", "tree.h5", 2},
		{"repack tree.h5 zipped.h5 --codec deflate", "tree.h5", 2},
		{"cp tree.h5:/time tree.h5:/run1 new.h5:/ --dry-run", "tree.h5", 2},
		{"cp tree.h5:/time tree.h5:/run1 new.h5:/", "tree.h5", 2},
		{"cp tree.h5:/time waves.h5:/again --dry-run", "waves.h5", 3},
		{"rm tree.h5:/time --dry-run", "tree.h5", 2},
	} {
		n := opened(t, c.file, func() {
			_, stderr, code := run(strings.Fields(c.line)...)
			require.Zero(t, code, stderr)
		})
		assert.Equal(t, c.want, n, c.line)
	}
}
