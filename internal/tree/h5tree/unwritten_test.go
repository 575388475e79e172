package h5tree_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// unwrittenRows is the number of rows of each dataset of saveUnwritten.
const unwrittenRows = 23

// saveUnwritten creates a file with datasets that are not or partly written, with each fill value
// and fill time, and one full dataset /0.
func saveUnwritten(t *testing.T, path string) {
	t.Helper()
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	i4 := h5.Int(4, h5.LittleEndian)
	full, err := f.Root().CreateDataset("0", i4, h5.SimpleSpace(100, 50), &h5.DatasetOptions{ChunkShape: []int64{7, 50}, Filters: []h5.Filter{h5.Deflate(1)}})
	require.NoError(t, err)
	require.NoError(t, full.WriteRegion(bytes.Repeat([]byte{0x5A}, 20000), i4, h5.SimpleSpace(100, 50).All()))
	records := h5.Datatype{Class: h5.Compound, Size: 6, Members: []h5.Member{{Name: "a", Type: new(h5.Int(2, h5.BigEndian))}, {Name: "b", Offset: 2, Type: new(h5.IEEEFloat(4, h5.LittleEndian))}}}
	for kind, dt := range map[string]h5.Datatype{"i4": i4, "f8": h5.IEEEFloat(8, h5.BigEndian), "S5": h5.FixedString(5, h5.NullPad, h5.ASCII), "record": records} {
		for layout, base := range map[string]h5.DatasetOptions{
			"contiguous": {}, "compact": {Compact: true}, "chunks": {ChunkShape: []int64{4, 3}}, "deflate": {ChunkShape: []int64{4, 3}, Filters: []h5.Filter{h5.Deflate(1)}},
			"edges": {ChunkShape: []int64{4, 3}, Filters: []h5.Filter{h5.Deflate(1)}, PlainEdges: true},
		} {
			for fill, o := range map[string]h5.DatasetOptions{"zero": {}, "none": {NoFill: true}, "value": {Fill: bytes.Repeat([]byte{0x31}, dt.Size)}} {
				for _, when := range []h5.FillTime{h5.FillIfSet, h5.FillOnAlloc, h5.FillNever} {
					for _, written := range []int{0, 1, 9} {
						if o.NoFill && when == h5.FillOnAlloc || layout == "contiguous" && when == h5.FillNever && written > 0 && fill != "value" {
							continue // not allowed; the same case twice
						}
						x := base
						x.NoFill, x.Fill, x.FillTime = o.NoFill, o.Fill, when
						space := h5.SimpleSpace(unwrittenRows, 10)
						d, err := f.Root().CreateDataset(fmt.Sprintf("%s %s %s %d %d", kind, layout, fill, when, written), dt, space, &x)
						require.NoError(t, err)
						part := h5.Region{Start: []int64{5, 4}, Count: []int64{int64(written), 2}}
						require.NoError(t, d.WriteRegion(bytes.Repeat([]byte{0x41}, 2*written*dt.Size), dt, part))
						require.NoError(t, d.Close())
					}
				}
			}
		}
	}
	require.NoError(t, f.Close())
}

// TestRead_unwritten compares elements that were never written with those of h5py, for each way to
// read an HDF5 file. The destinations contain the elements of other datasets.
func TestRead_unwritten(t *testing.T) {
	python, dir := testenv.Python(t, "h5py"), t.TempDir()
	saveUnwritten(t, filetest.In(dir, "x.h5"))
	out, err := exec.Command(python, "-c", `
import sys, json, h5py
with h5py.File(sys.argv[1]) as f:
    r = {}
    for name in f:
        try:
            a = f[name][()]
            r[name] = a.astype(a.dtype.newbyteorder("=")).tobytes().hex()
        except OSError as e:
            r[name] = None
print(json.dumps(r))`, filetest.In(dir, "x.h5")).Output()
	require.NoError(t, err)
	var want map[string]*string
	require.NoError(t, json.Unmarshal(out, &want))
	names := []string{}
	for name := range want {
		names = append(names, name)
	}
	require.Greater(t, len(names), 400)
	slices.Sort(names)
	url := filetest.Serve(t, dir)
	for way, u := range map[string]*hyperslab.Untrusted{"trusted": nil, "untrusted": {InProcess: true}, "worker": {}} {
		for _, location := range []string{filetest.In(dir, "x.h5"), url + "/x.h5"} {
			t.Run(way+" "+location[:4], func(t *testing.T) {
				f, err := hyperslab.OpenTree(bg, location, &hyperslab.OpenOptions{Untrusted: u})
				require.NoError(t, err)
				defer func() { require.NoError(t, f.Close()) }()
				buffer := bytes.Repeat([]byte{0xAA}, 20000)
				for _, name := range names {
					a, err := f.Open(bg, "/"+name)
					require.NoError(t, err)
					var elements []byte
					if want[name] != nil {
						elements, err = hex.DecodeString(*want[name])
						require.NoError(t, err)
					}
					requireReads(t, a, elements, buffer, name)
					require.NoError(t, a.Close())
				}
			})
		}
	}
}

// requireReads reads an array into buffer in each way. want is nil if the elements cannot be read.
func requireReads(t *testing.T, a *ndarray.Array, want, buffer []byte, name string) {
	t.Helper()
	whole, size := ndarray.Whole(a.Shape()), int64(a.DType().Size)
	for range 2 {
		got := buffer[:a.NBytes()]
		err := a.Read(bg, got, whole)
		if want == nil {
			require.ErrorContains(t, err, "no data can be read", name)
			return
		}
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	last := ndarray.Region{Start: []int64{whole.Shape[0] - 1, 9}, Shape: []int64{1, 1}}
	got := buffer[:size]
	require.NoError(t, a.Read(bg, got, last), name)
	at := ((whole.Shape[0]-1)*whole.Shape[1] + 9) * size
	require.Equal(t, want[at:at+size], got, name)
	step := ndarray.Select(ndarray.All().By(5), ndarray.At(4))
	taken := buffer[:(whole.Shape[0]+4)/5*size]
	require.NoError(t, a.Take(bg, taken, step), name)
	for i := range int64(len(taken)) / size {
		at := (5*i*whole.Shape[1] + 4) * size
		require.Equal(t, want[at:at+size], taken[i*size:][:size], "%s, row %d", name, 5*i)
	}
	uniform, err := a.Uniform(bg)
	require.NoError(t, err, name)
	if uniform != nil && uniform(whole) {
		require.Equal(t, bytes.Repeat(want[:size], len(want)/int(size)), want, name)
	}
}
