package hdf5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/mem"
)

// invalidFile creates a file with a contiguous dataset /x of type dt that contains v, and replaces
// bytes of its elements as they are in the file. The file also contains /target, 4 by 6 numbers.
func invalidFile[T any](t *testing.T, dt h5.Datatype, v func(f *h5.File) []T, change func(elements []byte)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	target, err := f.Root().CreateDataset("target", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(4, 6), nil)
	require.NoError(t, err)
	require.NoError(t, target.Close())
	list := v(f)
	d, err := f.Root().CreateDataset("x", dt, h5.SimpleSpace(int64(len(list))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, list, h5.All))
	info, err := d.Info()
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	change(b[info.Address:])
	require.NoError(t, os.WriteFile(file, b, 0o600))
	return file
}

// readInvalid opens /x and reads all elements, which have a variable size.
func readInvalid(t *testing.T, file string) ([]string, error) {
	t.Helper()
	b, err := hdf5.Open(file, "/x", nil)
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	strs := make([]string, a.NumElems())
	err = a.ReadStrings(bg, strs, ndarray.Whole(a.Shape()))
	require.NoError(t, a.Close())
	return strs, err
}

// Elements in the file: a count of 4 bytes, the address of a global heap and the index of an object
// in it; an object reference is an address.
const (
	heapAddress  = 4
	heapIndex    = 12
	sequenceSize = 16
)

func corrupt(err error) bool { return errors.Is(err, ndarray.ErrCorrupt) }
func limited(err error) bool { return errors.Is(err, errs.ErrLimit) }

// tooLong reports whether err is the error of a sequence that claims more bytes than the file has.
// libhdf5 first reserves an address range for it, which fails on a small machine.
func tooLong(err error) bool { return corrupt(err) || limited(err) }

// TestInvalid_sequences reads sequences and strings whose lengths or locations are invalid.
func TestInvalid_sequences(t *testing.T) {
	le := binary.LittleEndian
	defer ndarray.SetReadMemory(ndarray.SetReadMemory(4 << 20))
	long := make([]float64, 1<<17) // 1 MiB
	for _, c := range []struct {
		name   string
		change func(b []byte)
		want   func(error) bool
	}{
		{"length of 4 Gi elements", func(b []byte) { le.PutUint32(b, 1<<32-1) }, tooLong},
		{"length shorter than the object", func(b []byte) { le.PutUint32(b, 1) }, corrupt},
		{"address after the end", func(b []byte) { le.PutUint64(b[heapAddress:], 1<<40) }, corrupt},
		{"address of another structure", func(b []byte) { le.PutUint64(b[heapAddress:], 96) }, corrupt},
		{"index after the last object", func(b []byte) { le.PutUint32(b[heapIndex:], 60000) }, corrupt},
		{"many elements with the same object", func(b []byte) {
			for i := 1; i < 64; i++ {
				copy(b[i*sequenceSize:(i+1)*sequenceSize], b)
			}
		}, limited},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := invalidFile(t, h5.SequenceOf(h5.IEEEFloat(8, h5.LittleEndian)), func(*h5.File) [][]float64 {
				v := make([][]float64, 64)
				v[0] = long
				return v
			}, c.change)
			before := highWater(t)
			_, err := readInvalid(t, file)
			require.True(t, c.want(err), "%v", err)
			if testenv.Race() {
				return
			}
			require.Less(t, highWater(t)-before, int64(64<<20), "memory")
		})
	}
	t.Run("strings with the same object", func(t *testing.T) {
		file := invalidFile(t, h5.VariableString(h5.UTF8), func(*h5.File) []string {
			return append(make([]string, 63), strings.Repeat("x", 1<<20))
		}, func(b []byte) {
			for i := range 63 {
				copy(b[i*sequenceSize:(i+1)*sequenceSize], b[63*sequenceSize:])
			}
		})
		_, err := readInvalid(t, file)
		require.ErrorIs(t, err, errs.ErrLimit)
	})
	t.Run("sequence in a sequence", func(t *testing.T) {
		file := invalidFile(t, h5.SequenceOf(h5.SequenceOf(h5.Int(4, h5.LittleEndian))), func(*h5.File) [][][]int32 {
			return [][][]int32{{{1, 2}, {3}}}
		}, func(b []byte) {
			// The heap is before the elements, at an address in the file.
			le.PutUint32(b, 1<<31)
		})
		_, err := readInvalid(t, file)
		require.True(t, tooLong(err), "%v", err)
	})
	t.Run("valid sequence above the limit", func(t *testing.T) {
		defer ndarray.SetReadMemory(ndarray.SetReadMemory(1 << 10))
		file := invalidFile(t, h5.SequenceOf(h5.IEEEFloat(8, h5.LittleEndian)), func(*h5.File) [][]float64 { return [][]float64{long} }, func([]byte) {})
		strs, err := readInvalid(t, file)
		require.NoError(t, err)
		require.Len(t, strs[0], 1<<20)
	})
}

// TestInvalid_attributes reads attributes of 512 MiB whose elements refer to the same bytes.
func TestInvalid_attributes(t *testing.T) {
	defer ndarray.SetReadMemory(ndarray.SetReadMemory(4 << 20))
	const n = 512
	long := strings.Repeat("x", 1<<20)
	sequences := make([][]byte, n)
	sequences[0] = []byte(long)
	for name, write := range map[string]func(o h5.Object) error{
		"strings": func(o h5.Object) error {
			return h5value.WriteAttr(o, "a", append([]string{long}, make([]string, n-1)...))
		},
		"sequences": func(o h5.Object) error { return h5value.WriteAttr(o, "a", sequences) },
	} {
		t.Run(name, func(t *testing.T) {
			file := invalidFile(t, h5.Int(4, h5.LittleEndian), func(f *h5.File) []int32 {
				require.NoError(t, write(f.Root()))
				return []int32{1}
			}, func([]byte) {})
			repeatElement(t, file, n)
			before := highWater(t)
			f, err := h5.Open(file, h5.ReadOnly)
			require.NoError(t, err)
			_, err = f.Root().ReadAttribute("a")
			require.ErrorIs(t, err, errs.ErrLimit)
			require.NoError(t, f.Close())
			if !testenv.Race() {
				require.Less(t, highWater(t)-before, int64(64<<20), "memory")
			}
		})
	}
}

// repeatElement gives n elements of an attribute the value of the first one, of 1 MiB.
func repeatElement(t *testing.T, file string, n int) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	at := -1
	for i := range len(b) - n*sequenceSize {
		heap := binary.LittleEndian.Uint64(b[i+heapAddress:])
		if binary.LittleEndian.Uint32(b[i:]) == 1<<20 && heap < uint64(len(b)) && bytes.HasPrefix(b[heap:], []byte("GCOL")) {
			at = i
			break
		}
	}
	require.Positive(t, at)
	for i := 1; i < n; i++ {
		copy(b[at+i*sequenceSize:], b[at:at+sequenceSize])
	}
	require.NoError(t, os.WriteFile(file, b, 0o600))
}

// TestInvalid_strings reads strings marked as UTF-8 that are not. Their bytes are unchanged, and
// nothing else can represent them as characters.
func TestInvalid_strings(t *testing.T) {
	const text = "a\xff\xfe"
	for name, dt := range map[string]h5.Datatype{
		"variable": h5.VariableString(h5.UTF8), "fixed": h5.FixedString(3, h5.NullPad, h5.UTF8),
	} {
		t.Run(name, func(t *testing.T) {
			file := invalidFile(t, dt, func(*h5.File) []string { return []string{"ok", text} }, func([]byte) {})
			b, err := hdf5.Open(file, "/x", nil)
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			got, err := ndarray.ReadAll[string](bg, a)
			require.NoError(t, err)
			require.Equal(t, []string{"ok", text}, got)
			to, err := ndarray.ParseDType("<U3")
			require.NoError(t, err)
			wide, err := mem.New(ndarray.Spec{Shape: []int64{2}, DType: to})
			require.NoError(t, err)
			target, err := ndarray.New(wide)
			require.NoError(t, err)
			err = ndarray.Write(bg, target, got, ndarray.Whole([]int64{2}))
			require.ErrorIs(t, err, ndarray.ErrValue)
			require.ErrorContains(t, err, "1", "index of the element")
			require.NoError(t, errors.Join(a.Close(), target.Close()))
		})
	}
}

// TestInvalid_references reads null, dangling and out-of-range references. Each of them keeps its
// address or bytes as text, and cannot be written again.
func TestInvalid_references(t *testing.T) {
	le := binary.LittleEndian
	one := func(kind h5.ReferenceKind) func(f *h5.File) []h5.Ref {
		return func(f *h5.File) []h5.Ref {
			r, err := f.Root().Reference("target", kind)
			if kind == h5.RegionReference {
				r, err = f.Root().ReferenceRegion("target", kind, h5.Region{Start: []int64{1, 2}, Count: []int64{2, 3}})
			}
			require.NoError(t, err)
			return []h5.Ref{r}
		}
	}
	for _, c := range []struct {
		name   string
		kind   h5.ReferenceKind
		change func(b []byte)
		want   string
	}{
		{"valid object", h5.ObjectReference, func([]byte) {}, `^/target$`},
		{"null object", h5.ObjectReference, func(b []byte) { le.PutUint64(b, 0) }, `^$`},
		{"object after the end", h5.ObjectReference, func(b []byte) { le.PutUint64(b, 1<<40) }, `^#0x10000000000$`},
		{"undefined object", h5.ObjectReference, func(b []byte) { le.PutUint64(b, 1<<64-1) }, `^#0xffffffffffffffff$`},
		{"object that is a superblock", h5.ObjectReference, func(b []byte) { le.PutUint64(b, 8) }, `^#0x00000008$`},
		{"valid region", h5.RegionReference, func([]byte) {}, `^/target\[1:3, 2:5\]$`},
		{"null region", h5.RegionReference, func(b []byte) { clear(b[:12]) }, `^$`},
		{"region in a heap after the end", h5.RegionReference, func(b []byte) { le.PutUint64(b, 1<<40) }, `^#[0-9a-f]{24}$`},
		{"region after the last heap object", h5.RegionReference, func(b []byte) { le.PutUint32(b[8:], 999) }, `^#[0-9a-f]{24}$`},
		{"null reference of any kind", h5.StandardReference, func(b []byte) { clear(b[:18]) }, `^$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := invalidFile(t, h5.ReferenceType(c.kind), one(c.kind), c.change)
			strs, err := readInvalid(t, file)
			require.NoError(t, err)
			require.Regexp(t, c.want, strs[0])
			if !strings.HasPrefix(strs[0], "#") {
				return
			}
			b, err := hdf5.Open(file, "/x", &hdf5.OpenOptions{Write: true})
			require.NoError(t, err)
			a, err := ndarray.New(b)
			require.NoError(t, err)
			require.ErrorIs(t, a.WriteStrings(bg, strs, ndarray.Whole(a.Shape())), ndarray.ErrNotFound)
			require.NoError(t, a.Close())
			again, err := readInvalid(t, file)
			require.NoError(t, err)
			require.Equal(t, strs, again, "the failed write changed the reference")
		})
	}
	for name, change := range map[string]func(b []byte){
		"unknown kind":           func(b []byte) { b[0] = 99 },
		"token of 200 bytes":     func(b []byte) { b[2] = 200 },
		"token outside the file": func(b []byte) { b[7] = 0xff },
	} {
		t.Run(name, func(t *testing.T) {
			strs, err := readInvalid(t, invalidFile(t, h5.ReferenceType(h5.StandardReference), one(h5.StandardReference), change))
			if err == nil {
				require.Regexp(t, "^#", strs[0])
				return
			}
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
		})
	}
	t.Run("region outside its target", func(t *testing.T) {
		file := invalidFile(t, h5.ReferenceType(h5.RegionReference), one(h5.RegionReference), func([]byte) {})
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		// The selection in the heap: its first corner (1, 2) and its last one (2, 4).
		corners := []byte{1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0}
		at := bytes.Index(b, corners)
		require.Positive(t, at)
		le.PutUint32(b[at+8:], 1000)
		require.NoError(t, os.WriteFile(file, b, 0o600))
		strs, err := readInvalid(t, file)
		require.NoError(t, err)
		require.Equal(t, []string{"/target[1:1001, 2:5]"}, strs)
		b2, err := hdf5.Open(file, "/x", &hdf5.OpenOptions{Write: true})
		require.NoError(t, err)
		a, err := ndarray.New(b2)
		require.NoError(t, err)
		require.ErrorIs(t, a.WriteStrings(bg, strs, ndarray.Whole(a.Shape())), ndarray.ErrRegion)
		require.NoError(t, a.Close())
	})
}

// TestInvalid_types opens datasets whose datatype message is invalid.
func TestInvalid_types(t *testing.T) {
	le := binary.LittleEndian
	large := h5.Datatype{Class: h5.Compound} // its message has more than 8 KiB
	for i := range 250 {
		dt := h5.Int(4, h5.LittleEndian)
		large.Members = append(large.Members, h5.Member{Name: fmt.Sprintf("member%d", i), Offset: large.Size, Type: &dt})
		large.Size += 4
	}
	number := []byte{0x10, 8, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0}
	level := map[string][]byte{
		"sequences": {0x19, 0, 0, 0, 16, 0, 0, 0},
		"arrays":    {0x3a, 0, 0, 0, 4, 0, 0, 0, 1, 1, 0, 0, 0},
		"compounds": {0x36, 1, 0, 0, 4, 0, 0, 0, 'x', 0, 0},
		"enums":     {0x38, 0, 0, 0, 4, 0, 0, 0},
	}
	for name, change := range map[string]func(m []byte){
		"no bytes":             func(m []byte) { clear(m) },
		"unknown class":        func(m []byte) { m[0] |= 0xf },
		"unknown version":      func(m []byte) { m[0] |= 0xf0 },
		"size of 4 GiB":        func(m []byte) { le.PutUint32(m[4:], 1<<32-1) },
		"size of no bytes":     func(m []byte) { le.PutUint32(m[4:], 0) },
		"more members":         func(m []byte) { le.PutUint16(m[1:], 65535) },
		"member outside":       func(m []byte) { le.PutUint32(m[16:], 1<<31) },
		"integer of 4 Gi bits": func(m []byte) { copy(m, number); copy(m[4:], []byte{255, 255, 255, 255, 0, 0, 255, 255}) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readInvalid(t, invalidType(t, large, change))
			require.True(t, typed(err), "%v", err)
		})
	}
	for name, part := range level {
		t.Run("nested "+name, func(t *testing.T) {
			_, err := readInvalid(t, invalidType(t, large, func(m []byte) {
				for len(m) >= len(part)+len(number) {
					m = m[copy(m, part):]
				}
				copy(m, number)
			}))
			require.True(t, typed(err), "%v", err)
		})
	}
}

// typed reports whether err is one of the errors for types that are invalid or too deep.
func typed(err error) bool {
	return errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, ndarray.ErrType) || errors.Is(err, errors.ErrUnsupported)
}

// invalidType creates a file with the dataset /x of type dt, and changes its datatype message.
func invalidType(t *testing.T, dt h5.Datatype, change func(message []byte)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(file, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", dt, h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	at := bytes.Index(b, []byte("member0\x00"))
	require.Greater(t, at, 16)
	at -= 8 // the message begins with the class, flags and size of the compound
	n := int(binary.LittleEndian.Uint16(b[at-6:]))
	require.Greater(t, n, 8<<10, "size of the message")
	change(b[at : at+n])
	require.NoError(t, os.WriteFile(file, b, 0o600))
	return file
}
