// Tests of redundant fields that contradict stronger evidence.

package recovery_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// filtered writes the datasets of this test. Each has a filter whose parameters repeat a size.
const filtered = `
import sys, numpy, h5py
libver = "earliest" if sys.argv[2] == "oldest" else "v110"
x = numpy.arange(2000, dtype="<i8") * 37 % 1009
with h5py.File(sys.argv[1], "w", libver=(libver, "latest")) as f:
    def add(name, data, *filters):
        p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        p.set_chunk((300,))
        for fn in filters:
            fn(p)
        t = h5py.h5t.py_create(data.dtype, logical=True)
        h5py.h5d.create(f.id, name.encode(), t, h5py.h5s.create_simple(data.shape), p).write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    gzip, shuffle, sum = (lambda p: p.set_deflate(4)), (lambda p: p.set_shuffle()), (lambda p: p.set_fletcher32())
    z = h5py.h5z
    add("shuffle", x, shuffle, gzip)
    add("shuffle sum", x.astype("<f4"), shuffle, gzip, sum)
    add("sum shuffle", x.astype("<f8"), sum, shuffle, gzip)
    add("nbit", x.astype("<i4"), lambda p: p.set_filter(z.FILTER_NBIT, 0, ()), sum)
    add("scale-offset", x, lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0), gzip)
    add("szip", x.astype("<i4"), lambda p: p.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 16), sum) if z.filter_avail(z.FILTER_SZIP) else None
`

// readAll prints the elements of every dataset of each file.
const readAll = `
import sys, json, importlib.util, h5py
if importlib.util.find_spec("hdf5plugin"):
    import hdf5plugin
for name in sys.argv[1:]:
    with h5py.File(name) as f:
        print(json.dumps({name: f[name][()].tolist() for name in f}))
`

// pythonValues returns the elements of every dataset of each file as JSON.
func pythonValues(t *testing.T, python string, paths ...string) (all []map[string]string) {
	t.Helper()
	out, err := exec.Command(python, append([]string{"-c", readAll}, paths...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	d := json.NewDecoder(bytes.NewReader(out))
	for range paths {
		var v map[string]json.RawMessage
		require.NoError(t, d.Decode(&v))
		text := map[string]string{}
		for name, x := range v {
			text[name] = string(x)
		}
		all = append(all, text)
	}
	return all
}

// TestHDF5_FilterParameters changes one size in the parameters of a filter. If a checksum or the
// chunks disprove it, all elements must be recovered as certain, with the values of the undamaged
// file. Otherwise libhdf5 reads the damaged file, and the recovered file must have the same values.
func TestHDF5_FilterParameters(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy")
	scratch, wholes := t.TempDir(), map[string]string{}
	for _, version := range []string{"oldest", "newest"} {
		wholes[version] = filepath.Join(t.TempDir(), version+".h5")
		out, err := exec.Command(python, "-c", filtered, wholes[version], version).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	wholes["sealed"] = wholes["newest"]
	var want, got []string // files with the same values
	for name, tt := range map[string]struct {
		dataset string
		filter  h5file.FilterID
		value   int
		to      byte
		open    bool // only the checksum of an object header can disprove the parameter
	}{
		"shuffle, other size":       {"shuffle", h5file.Shuffle, 0, 4, true},
		"shuffle, zero":             {"shuffle", h5file.Shuffle, 0, 0, false},
		"shuffle before a checksum": {"shuffle sum", h5file.Shuffle, 0, 2, true},
		"shuffle after a checksum":  {"sum shuffle", h5file.Shuffle, 0, 2, false},
		"n-bit, elements":           {"nbit", h5file.NBit, 2, 7, false},
		"n-bit, size":               {"nbit", h5file.NBit, 4, 8, false},
		"scale-offset, elements":    {"scale-offset", h5file.ScaleOffset, 2, 9, false},
		"scale-offset, size":        {"scale-offset", h5file.ScaleOffset, 4, 4, false},
		"szip, bits of a number":    {"szip", h5file.SZip, 2, 16, false},
	} {
		for version, whole := range wholes {
			t.Run(name+"/"+version, func(t *testing.T) {
				at := int64(-1)
				for _, f := range hdf5test.Object(t, whole, "/"+tt.dataset).Pipeline().Filters {
					if f.ID == tt.filter {
						at = f.ValuesAt + 4*int64(tt.value)
					}
				}
				require.Positive(t, at)
				b := read(t, whole)
				require.NotEqual(t, tt.to, b[at])
				if b[at] = tt.to; version == "sealed" {
					hdf5test.Reseal(b)
				}
				src := filepath.Join(scratch, fmt.Sprintf("%d.h5", len(want)))
				require.NoError(t, os.WriteFile(src, b, 0o600))
				dst := src + ".recovered"
				r, err := recovery.Recover(bg, dst, src, nil)
				require.NoError(t, err)
				requireSound(t, dst)
				require.Zero(t, r.Lost+r.Guessed+r.LostObjects, "%v", r.Findings)
				if tt.open && version != "newest" {
					want = append(want, src)
				} else {
					want = append(want, whole)
					require.Len(t, r.Findings, 1)
					require.Equal(t, recovery.Certain, r.Findings[0].Certainty)
				}
				if tt.open && version == "oldest" {
					require.EqualValues(t, 7, r.Unverified, "%v", r.Findings)
				}
				got = append(got, dst)
			})
		}
	}
	wanted, found := pythonValues(t, python, want...), pythonValues(t, python, got...)
	for i := range got {
		require.Equal(t, wanted[i], found[i], "%s", got[i])
	}
}

// TestHDF5_ChunkLength checks chunks whose stored length is wrong. The Adler-32 proves their
// elements.
func TestHDF5_ChunkLength(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy")
	const program = `
import sys, zlib, numpy, h5py
kind = sys.argv[2]
with h5py.File(sys.argv[1], "w", libver=("earliest", "latest")) as f:
    x = numpy.arange(70, dtype="<i4").reshape(7, 10)
    d = f.create_dataset("x", data=x, chunks=(3, 10), compression="gzip")
    if kind == "short":
        d.id.write_direct_chunk((6, 0), zlib.compress(x[6:].tobytes()))
`
	src := filepath.Join(t.TempDir(), "a.h5")
	var want [][]float64
	for _, kind := range []string{"short", "stored too few", "stored too many"} {
		t.Run(kind, func(t *testing.T) {
			out, err := exec.Command(python, "-c", program, src, kind).CombinedOutput()
			require.NoError(t, err, "%s", out)
			if kind != "short" {
				var last h5file.Chunk
				for c, err := range hdf5test.Object(t, src, "/x").Chunks() {
					require.NoError(t, err)
					last = c
				}
				size := byte(last.Size)
				change(t, src, func(b []byte) []byte {
					key := sizeInKey(t, b, last)
					if b[key] = size - 7; kind == "stored too many" {
						b[key+1] = 0x70 // beyond the end of the file
					}
					return b
				})
			}
			dst, r := recovered(t, src, nil)
			require.EqualValues(t, 3, r.Certain, "%v", r.Findings)
			require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
			requireSound(t, dst)
			require.NoError(t, json.Unmarshal([]byte(pythonValues(t, python, dst)[0]["x"]), &want))
			for i, row := range want {
				for k, v := range row {
					require.EqualValues(t, 10*i+k, v)
				}
			}
		})
	}
	_ = os.Remove(src)
}

// sizeInKey returns the offset of the size of a chunk in its key of a B-tree of version 1: the
// size, the filter mask, the offsets of the chunk and an element offset, and the address.
func sizeInKey(t *testing.T, b []byte, c h5file.Chunk) int {
	t.Helper()
	address := 8 + 8*(len(c.Offset)+1)
	for at := 0; at+address+8 <= len(b); at++ {
		if le(b[at:], 4) == c.Size && le(b[at+4:], 4) == uint64(c.Mask) && le(b[at+8:], 8) == c.Offset[0] && le(b[at+address:], 8) == uint64(c.Addr) {
			return at
		}
	}
	t.Fatal("no key of the chunk")
	return 0
}

func le(b []byte, n int) (v uint64) {
	for i := range n {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// eachIndex writes a dataset for each chunk index of the file version and each pipeline.
const eachIndex = `
import sys, numpy, h5py
old = sys.argv[2] == "oldest"
x = numpy.arange(23, dtype="<f8") * 3
with h5py.File(sys.argv[1], "w", libver=("earliest", "latest") if old else ("v110", "latest")) as f:
    for filters, options in {"none": {}, "gzip": {"compression": "gzip", "shuffle": True}, "shuffle": {"shuffle": True}, "sum": {"fletcher32": True}, "lzf": {"compression": "lzf"}}.items():
        for index, shape in {"fixed": {}, "extensible": {"maxshape": (None,)}, "single": {"chunks": (23,)}}.items():
            f.create_dataset(f"{filters} {index}", data=x, **{"chunks": (5,)} | shape | options)
        f.create_dataset(f"{filters} tree", data=x.reshape(1, 23), chunks=(1, 5), maxshape=(None, None), **options)
`

// TestHDF5_LayoutElementSize changes the element size in the layout of each dataset, as writers
// such as PureHDF do. Its elements must be recovered, as certain if they have a checksum, with the
// values that HDF5 1.14 reads from the damaged file.
func TestHDF5_LayoutElementSize(t *testing.T) {
	python, older := testenv.Python(t, "h5py", "numpy"), testenv.OldPython(t, "h5py")
	for _, version := range []string{"oldest", "newest"} {
		t.Run(version, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.h5")
			out, err := exec.Command(python, "-c", eachIndex, src, version).CombinedOutput()
			require.NoError(t, err, "%s", out)
			want := pythonValues(t, python, src)[0]
			for name := range want {
				o := hdf5test.Object(t, src, "/"+name)
				at := o.Layout().ElementAt - o.Message(h5file.LayoutType).Offset
				hdf5test.Edit(t, src, "/"+name, h5file.LayoutType, func(b []byte) { b[at] = 4 })
			}
			require.Equal(t, want, pythonValues(t, older, src)[0])
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
			require.Len(t, r.Findings, len(want))
			require.EqualValues(t, 2*16, r.Certain, "%v", r.Findings) // gzip and Fletcher-32
			requireSound(t, dst)
			require.Equal(t, want, pythonValues(t, python, dst)[0])
		})
	}
}

// TestHDF5_unusedParameter changes parameters of scale-offset that libhdf5 stores and does not
// read: the sign of floats, and the last one, after the fill value. All chunks must be recovered.
func TestHDF5_unusedParameter(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy")
	src := filepath.Join(t.TempDir(), "a.h5")
	out, err := exec.Command(python, "-c", `
import sys, numpy, h5py
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("x", data=numpy.arange(300, dtype="<f4") / 4, chunks=(100,), scaleoffset=2)
`, src).CombinedOutput()
	require.NoError(t, err, "%s", out)
	want := pythonValues(t, python, src)
	at := hdf5test.Object(t, src, "/x").Pipeline().Filters[0].ValuesAt + 4*5
	change(t, src, func(b []byte) []byte { b[at] ^= 1; b[at+4*14]++; return b })
	require.Equal(t, want, pythonValues(t, python, src))
	dst, r := recovered(t, src, nil)
	require.EqualValues(t, 3, r.Unverified, "%v", r.Findings)
	require.Equal(t, recovery.ExitWhole, r.ExitCode(), "%v", r.Findings)
	require.Equal(t, want, pythonValues(t, python, dst))
}

// TestHDF5_deflateLevel changes the level of deflate, or the number of its parameters, as libhdf5
// refuses them. No decoder needs them, so all chunks must be recovered.
func TestHDF5_deflateLevel(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy")
	for name, spoil := range map[string]func(b []byte, f h5file.Filter){
		"too high": func(b []byte, f h5file.Filter) { b[f.ValuesAt] = 10 },
		"missing":  func(b []byte, f h5file.Filter) { clear(b[f.ValuesAt-8-2:][:2]) }, // before the name of 8 bytes
	} {
		t.Run(name, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.h5")
			out, err := exec.Command(python, "-c", `
import sys, numpy, h5py
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("x", data=numpy.arange(300, dtype="<f4") / 4, chunks=(100,), compression="gzip")
`, src).CombinedOutput()
			require.NoError(t, err, "%s", out)
			want := pythonValues(t, python, src)
			f := hdf5test.Object(t, src, "/x").Pipeline().Filters[0]
			require.Equal(t, "deflate", f.Name)
			change(t, src, func(b []byte) []byte {
				spoil(b, f)
				return b
			})
			dst, r := recovered(t, src, nil)
			require.EqualValues(t, 3, r.Certain, "%v", r.Findings)
			require.Equal(t, recovery.Guessed, r.Findings[0].Certainty)
			requireSound(t, dst)
			require.Equal(t, want, pythonValues(t, python, dst))
		})
	}
}

// TestHDF5_plugInEvidence changes fields that repeat a size: the element size of the layout, a
// parameter of shuffle, and the stored length of a chunk. The CRC-32 of bzip2, the checksum of a
// zstd frame, or the header of a Blosc chunk or frame decides against them.
func TestHDF5_plugInEvidence(t *testing.T) {
	python := testenv.Python(t, "h5py", "numpy", "hdf5plugin")
	const program = `
import sys, numpy, h5py, hdf5plugin
name, codec, order = sys.argv[1:4]
x = numpy.arange(300, dtype="<f8") * 3
options = hdf5plugin.Blosc2()["compression_opts"] if int(codec) == hdf5plugin.BLOSC2_ID else ()
with h5py.File(name, "w", libver=("earliest", "latest")) as f:
    p = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    p.set_chunk((100,))
    if order == "before shuffle":
        p.set_filter(int(codec), 0, options)
    p.set_shuffle()
    if order == "after shuffle":
        p.set_filter(int(codec), 0, options)
    d = h5py.Dataset(h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((300,)), p))
    d[:] = x
    if len(sys.argv) > 4: # shuffled values, compressed by the caller
        for i in range(3):
            d.id.write_direct_chunk((100 * i,), open(f"{sys.argv[4]}.{i}", "rb").read())
`
	values := make([]byte, 8*300) // shuffled in chunks of 100
	for i := range 300 {
		for k, v := range littleEndianFloat(float64(3 * i)) {
			values[i/100*800+k*100+i%100] = v
		}
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	require.NoError(t, err)
	frames := filepath.Join(t.TempDir(), "frame")
	for i := range 3 {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s.%d", frames, i), encoder.EncodeAll(values[800*i:800*(i+1)], nil), 0o600))
	}
	type evidence struct {
		name   string
		codec  int
		summed bool // the stream has a checksum of the values
		field  string
	}
	var all []evidence
	for _, field := range []string{"element size", "parameter of shuffle", "length of a chunk", "length beyond the file"} {
		all = append(all, evidence{"bzip2", filter.IDBZip2, true, field}, evidence{"zstd with a checksum", filter.IDZstd, true, field},
			evidence{"zstd", filter.IDZstd, false, field}, evidence{"blosc", filter.IDBlosc, false, field}, evidence{"blosc2", filter.IDBlosc2, false, field})
	}
	for _, c := range testenv.Sample(all, 3) {
		t.Run(c.name+"/"+c.field, func(t *testing.T) {
			src, order := filepath.Join(t.TempDir(), "a.h5"), "after shuffle"
			if c.field == "parameter of shuffle" {
				order = "before shuffle"
			}
			args := []string{"-c", program, src, fmt.Sprint(c.codec), order}
			certain := c.summed
			if c.name == "zstd with a checksum" {
				if certain = order == "after shuffle"; certain {
					args = append(args, frames)
				}
			}
			out, err := exec.Command(python, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			want := pythonValues(t, python, src)
			spoilSize(t, src, c.field)
			dst, r := recovered(t, src, nil)
			require.Zero(t, r.Lost+r.Guessed, "%v", r.Findings)
			n := map[bool]int64{true: 3}
			require.Equal(t, []int64{n[certain], n[!certain]}, []int64{r.Certain, r.Unverified}, "%v", r.Findings)
			requireSound(t, dst)
			require.Equal(t, want, pythonValues(t, python, dst))
		})
	}
}

func littleEndianFloat(v float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

// spoilSize changes a field of the dataset /x that repeats a size.
func spoilSize(t *testing.T, src, field string) {
	t.Helper()
	o := hdf5test.Object(t, src, "/x")
	switch field {
	case "element size":
		at := o.Layout().ElementAt - o.Message(h5file.LayoutType).Offset
		hdf5test.Edit(t, src, "/x", h5file.LayoutType, func(b []byte) { b[at] = 4 })
		return
	case "parameter of shuffle":
		list := o.Pipeline().Filters
		change(t, src, func(b []byte) []byte { b[list[len(list)-1].ValuesAt] = 4; return b })
		return
	}
	for c, err := range o.Chunks() {
		require.NoError(t, err)
		change(t, src, func(b []byte) []byte {
			key := sizeInKey(t, b, c)
			if b[key] -= 5; field == "length beyond the file" {
				b[key+1] = 0x70
			}
			return b
		})
		return
	}
}
