package h5_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// writeUnknownFilter creates a file whose dataset /d has the filter 32099, "unknown".
func writeUnknownFilter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	level := 1
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Deflate: &level})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 10), region([]int64{0}, []int64{10})))
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	// A filter description of a version 1 filter pipeline message (File Format IV.A.2.l) has the
	// number, the name length, the flags and the number of values, each of 2 bytes, then the name.
	at := bytes.Index(b, []byte("deflate\x00"))
	require.Positive(t, at)
	copy(b[at-8:], []byte{0x63, 0x7d})
	copy(b[at:], "unknown")
	require.NoError(t, os.WriteFile(path, b, 0o644))
	return path
}

func readUnknownFilter(path string) error {
	f, err := h5.Open(path, h5.ReadWrite)
	if err != nil {
		return err
	}
	defer f.Close()
	d, err := f.Root().OpenDataset("d")
	if err != nil {
		return err
	}
	_, err = h5value.ReadAll[int32](d)
	return err
}

func TestDefects_missingFilter(t *testing.T) {
	err := readUnknownFilter(writeUnknownFilter(t))
	require.ErrorIs(t, err, h5.ErrNoFilter)
	var fe *h5.FilterError
	require.ErrorAs(t, err, &fe)
	require.Equal(t, h5.FilterError{ID: 32099, Name: "unknown"}, *fe)
	require.Equal(t, "h5: read /d: filter not available: filter 32099 (unknown): register it (RegisterFilter) or allow a plugin (AllowPlugins)", err.Error())
	require.NotErrorIs(t, err, h5.ErrCorrupt)
	require.Contains(t, fmt.Sprintf("%+v", err), "H5Z_pipeline", "the stack is there too")
}

// child runs one test of this binary in a process with additional environment variables, for at
// most one minute, and returns its standard error.
func child(t *testing.T, test string, env ...string) (stderr string) {
	t.Helper()
	cmd := testenv.Self("-test.run=^"+test+"$", "-test.timeout=1m")
	cmd.Env = append(append(os.Environ(), "H5_TEST_CHILD=1"), env...)
	var b strings.Builder
	cmd.Stderr = &b
	require.NoError(t, cmd.Run(), "%s", b.String())
	return b.String()
}

// TestDefects_readerDriver checks that a driver exists for as long as libhdf5 uses it, which can be
// longer than its file is open. MALLOC_PERTURB_ makes glibc overwrite freed memory, so a call of a
// freed driver crashes.
func TestDefects_readerDriver(t *testing.T) {
	if os.Getenv("H5_TEST_CHILD") == "" {
		child(t, "TestDefects_readerDriver", "MALLOC_PERTURB_=90", "GLIBC_TUNABLES=glibc.malloc.tcache_count=0")
		return
	}
	b, err := os.ReadFile(writeUnknownFilter(t))
	require.NoError(t, err)
	for range 3 {
		f, err := h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

// TestPlugins_Disabled checks that a shared object in the plug-in path is not loaded. The shared
// object creates a file if it is loaded.
func TestPlugins_Disabled(t *testing.T) {
	if os.Getenv("H5_TEST_CHILD") != "" {
		require.ErrorIs(t, readUnknownFilter(os.Getenv("H5_TEST_FILE")), h5.ErrNoFilter)
		return
	}
	dir, mark := markingPlugin(t, 0)
	child(t, "TestPlugins_Disabled", "HDF5_PLUGIN_PATH="+dir, "H5_TEST_FILE="+writeUnknownFilter(t))
	require.NoFileExists(t, mark)
	// h5dump must load the plug-in, because this shows that the test can detect it.
	cmd := exec.Command(testenv.Tool(t, "h5dump"), "-d", "/d", writeUnknownFilter(t))
	cmd.Env = append(os.Environ(), "HDF5_PLUGIN_PATH="+dir)
	_ = cmd.Run()
	require.FileExists(t, mark)
}

// TestDefects_negativeFillSize checks that a version 2 fill value message with a size of -5 bytes
// returns an error and does not crash.
func TestDefects_negativeFillSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fill.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.Earliest, High: h5.LatestFormat})
	require.NoError(t, err)
	i4 := h5.Int(4, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Fill: []byte{1, 2, 3, 4}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := h5file.Open(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	at := int64(0)
	for e, err := range file.Walk() {
		require.NoError(t, err)
		if m := e.Object.Message(h5file.FillValueType); m != nil {
			at = m.Offset
		}
	}
	require.EqualValues(t, 2, b[at], "version")
	require.EqualValues(t, 4, binary.LittleEndian.Uint32(b[at+4:]))
	binary.LittleEndian.PutUint32(b[at+4:], 0xFFFFFFFB)
	require.NoError(t, os.WriteFile(path, b, 0o600))

	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	d, err = f.Root().OpenDataset("d")
	if err == nil {
		_, err = d.Info()
		require.Error(t, err)
		err = d.ReadRegion(make([]byte, 40), i4, h5.SimpleSpace(10).All())
		require.NoError(t, d.Close())
	}
	require.Error(t, err)
	require.NoError(t, f.Close())
}

// TestDefects_propertyListClass checks that a dataset is no dimension scale if its attribute CLASS
// has the right string length, but another value or several elements.
func TestDefects_propertyListClass(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "class.h5"), nil)
	require.NoError(t, err)
	i4 := h5.Int(4, h5.LittleEndian)
	d, err := f.Root().CreateDataset("d", i4, h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	s, err := f.Root().CreateDataset("s", i4, h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, d.AttachScale(0, s))
	class := func(text string, space h5.Dataspace) h5.Attribute {
		n := max(space.NumElems(), 1)
		return h5.Attribute{Name: "CLASS", Datatype: h5.FixedString(16, h5.NullTerm, h5.ASCII), Space: space, Data: bytes.Repeat(append([]byte(text), make([]byte, 16-len(text))...), int(n))}
	}
	for _, a := range []h5.Attribute{class("DIMENSION_SCANE", h5.ScalarSpace()), class("A TABLE OF MINE", h5.ScalarSpace()), class("DIMENSION_SCALE", h5.SimpleSpace(50))} {
		require.NoError(t, s.DeleteAttribute("CLASS"))
		require.NoError(t, s.WriteAttribute(a))
		_, is, err := s.ScaleName()
		require.NoError(t, err)
		require.False(t, is)
		for _, err := range d.Scales(0) {
			require.NoError(t, err)
		}
		require.ErrorIs(t, d.AttachScale(0, s), h5.ErrType)
		require.ErrorIs(t, d.DetachScale(0, s), h5.ErrType)
	}
	require.NoError(t, d.Close())
	require.NoError(t, s.Close())
	require.NoError(t, f.Close())
}
