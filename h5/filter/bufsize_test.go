package filter_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// A seen holds the arguments of one call of the spy filter.
type seen struct {
	reverse int
	place   int // position of the spy, its only parameter
	bytes   int // length of the data
	size    int // size of the buffer, as the filter before reported it
	real    int // size of the buffer, as the allocator reports it
}

// newSpy makes libhdf5 load a filter that does not change the data. The filter records the
// arguments of each call and writes to all of the reported buffer after the data. take returns the
// calls since the last time.
func newSpy(t *testing.T) (id int, take func() []seen) {
	cc := testenv.Compiler(t)
	include := testenv.Libraries(t)
	dir := t.TempDir()
	source, notes := filepath.Join(dir, "spy.c"), filepath.Join(dir, "notes")
	require.NoError(t, os.WriteFile(source, []byte(`
#include <H5PLextern.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static size_t spy(unsigned flags, size_t n, const unsigned *v, size_t len, size_t *size, void **buf)
{
    FILE *f = fopen(getenv("HYPERSLAB_TEST_NOTES"), "a");
    size_t real = malloc_usable_size(*buf);
    if (f == NULL || n != 1)
        return 0;
    fprintf(f, "%d %u %zu %zu %zu\n", (flags & H5Z_FLAG_REVERSE) != 0, v[0], len, *size, real);
    if (fclose(f) != 0)
        return 0;
    if (*size > len)
        memset((char *)*buf + len, 0xA5, *size - len);
    return len;
}
static const H5Z_class2_t class = {H5Z_CLASS_T_VERS, 40778, 1, 1, "spy", NULL, NULL, spy};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &class; }
`), 0o600))
	directory := t.TempDir()
	out, err := exec.Command(cc, "-shared", "-fPIC", "-I"+include, "-o", filepath.Join(directory, "libspy.so"), source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("HYPERSLAB_TEST_NOTES", notes) // the plug-in of the first test stays loaded and uses this variable
	require.NoError(t, h5.AllowPlugins(directory))
	t.Cleanup(func() { require.NoError(t, h5.AllowPlugins()) })
	return 40778, func() (all []seen) {
		b, err := os.ReadFile(notes)
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		require.NoError(t, os.Remove(notes))
		for line := range strings.Lines(string(b)) {
			var s seen
			_, err := fmt.Sscan(line, &s.reverse, &s.place, &s.bytes, &s.size, &s.real)
			require.NoError(t, err, line)
			all = append(all, s)
		}
		return all
	}
}

// TestBufferSizes checks that the buffer size that the filters of this package return to libhdf5 is
// the size of the allocated buffer. The test covers writes and reads, data that grow and shrink,
// and the last chunk. The next filters, for example shuffle, fletcher32 and plug-ins, rely on the
// size.
func TestBufferSizes(t *testing.T) {
	spy, take := newSpy(t)
	f, _ := newFile(t)
	defer func() { require.NoError(t, f.Close()) }()
	kind := h5.Int(4, h5.LittleEndian)
	const total = 64 * 50 * 4
	sources := map[string][]byte{"noise": testutil.Noise(total, 1), "zeros": make([]byte, total), "data": data(total, 1)}
	shapes := map[string][2][]int64{
		"one axis":             {{3200}, {900}}, // a last chunk of 500
		"one axis, few":        {{3200}, {7}},
		"an array":             {{64, 50}, {30, 20}},
		"an array, one row":    {{64, 50}, {1, 50}},
		"an array of one":      {{64, 50}, {64, 1}},
		"an array, three axes": {{16, 4, 50}, {7, 3, 11}},
	}
	fewer, more := 0, 0
	for _, id := range []int{filter.IDBlosc2, filter.IDBlosc, filter.IDZstd, filter.IDLZ4, filter.IDBZip2, filter.IDBitShuffle} {
		for name, shape := range shapes {
			dims, chunks := shape[0], shape[1]
			n := int(kind.Size)
			for _, c := range chunks {
				n *= int(c)
			}
			var values []uint32
			if id == filter.IDBlosc2 {
				values = []uint32{0, 0, 0, 0, 5, 1, 1}
			}
			for of, src := range sources {
				about := fmt.Sprint(id, " ", name, " ", of)
				d, err := f.Root().CreateDataset(about, kind, h5.SimpleSpace(dims...), &h5.DatasetOptions{ChunkShape: chunks, Filters: []h5.Filter{
					{ID: spy, Values: []uint32{0}}, h5.Shuffle(), {ID: spy, Values: []uint32{1}}, {ID: id, Values: values}, {ID: spy, Values: []uint32{2}},
					h5.Fletcher32(), {ID: spy, Values: []uint32{3}}, h5.Shuffle(), {ID: spy, Values: []uint32{4}},
				}})
				require.NoError(t, err, about)
				require.NoError(t, d.WriteRegion(src, kind, region(dims...)), about)
				info, err := d.Info()
				require.NoError(t, err)
				require.NoError(t, d.Close())
				bound := filter.Bound(id, info.Filters[3].Values, n)
				stored := map[int]int{} // how many chunks had each encoded length
				written := 0
				for _, s := range take() {
					require.LessOrEqual(t, s.bytes, s.size, "%s: %+v", about, s)
					require.LessOrEqual(t, s.size, s.real, "%s: %+v", about, s)
					if s.place == 2 {
						written++
						require.Zero(t, s.reverse)
						require.Equal(t, bound, s.size, about)
						stored[s.bytes]++
						if s.bytes < n {
							fewer++
						} else if s.bytes > n {
							more++
						}
					}
				}
				require.Positive(t, written, about)

				d, err = f.Root().OpenDataset(about) // nothing is cached
				require.NoError(t, err)
				got := make([]byte, len(src))
				require.NoError(t, d.ReadRegion(got, kind, region(dims...)), about)
				require.Equal(t, src, got, about)
				require.NoError(t, d.Close())
				read := 0
				for _, s := range take() {
					require.Equal(t, 1, s.reverse, "%s: %+v", about, s)
					require.LessOrEqual(t, s.bytes, s.size, "%s: %+v", about, s)
					require.LessOrEqual(t, s.size, s.real, "%s: %+v", about, s)
					switch s.place {
					case 1: // after the tested filter
						read++
						require.Equal(t, n, s.bytes, about)
						if id == filter.IDBlosc2 || id == filter.IDBlosc {
							require.Equal(t, n, s.size, about)
						}
					case 2: // before the tested filter
						stored[s.bytes]--
					}
				}
				require.Equal(t, written, read, about)
				for bytes, left := range stored {
					require.Zero(t, left, "%s: chunks of %d bytes", about, bytes)
				}
			}
		}
	}
	require.Positive(t, fewer)
	require.Positive(t, more)
}

// TestPipeline_bufferSizes checks that a filter that fails passes the buffer and its size unchanged
// to the next filter.
func TestPipeline_bufferSizes(t *testing.T) {
	spy, take := newSpy(t)
	f, _ := newFile(t)
	defer func() { require.NoError(t, f.Close()) }()
	kind, src := h5.Int(4, h5.LittleEndian), data(4*100, 1)
	no := []uint32{0, 0, 0, 0, 5, 1, 99} // invalid codec
	d, err := f.Root().CreateDataset("d", kind, h5.SimpleSpace(100), &h5.DatasetOptions{ChunkShape: []int64{50}, Filters: []h5.Filter{
		{ID: spy, Values: []uint32{0}}, {ID: filter.IDBlosc2, Name: "unchecked", Optional: true, Values: no}, {ID: spy, Values: []uint32{1}}, h5.Fletcher32(),
	}})
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion(src, kind, region(100)))
	require.NoError(t, d.Close())
	var writing []seen
	for _, s := range take() {
		if s.reverse == 0 {
			writing = append(writing, s)
		}
	}
	require.GreaterOrEqual(t, len(writing), 4)
	for i := 0; i < len(writing); i += 2 {
		before := writing[i]
		before.place = 1
		require.Equal(t, before, writing[i+1])
	}
	d, err = f.Root().OpenDataset("d")
	require.NoError(t, err)
	for c, err := range d.StoredChunks() {
		require.NoError(t, err)
		require.EqualValues(t, 2, c.FilterMask)
	}
	got := make([]byte, len(src))
	require.NoError(t, d.ReadRegion(got, kind, region(100)))
	require.Equal(t, src, got)
}
