// Fuzz tests: any input must be handled without a panic and with bounded work, and all views must
// agree.

package h5file_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// mostSeed is the maximum size of a seed in bytes. Larger seeds would only slow down the test.
const mostSeed = 20000

// seeds returns the smaller fixtures.
func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, b := range fixtures(t) {
		if len(b) <= mostSeed {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// repaired corrects the checksums after a change. Otherwise the tests would only test the
// checksums. Describe returns the expected checksums.
func repaired(b []byte) []byte {
	b = slices.Clone(b)
	for range 4 { // a checksum may cover another checksum
		broken := false
		for path, f := range describe(b).Complaints() {
			_, want, ok := strings.Cut(f.Complaint, "want 0x")
			if !ok || f.Length != 4 || !strings.HasSuffix(path, "/checksum") {
				continue
			}
			want, _, _ = strings.Cut(want, ":")
			if v, err := strconv.ParseUint(want, 16, 32); err == nil {
				binary.LittleEndian.PutUint32(b[f.Offset:], uint32(v))
				broken = true
			}
		}
		if !broken {
			break
		}
	}
	return b
}

func FuzzFile(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = look(t, b)
		_ = look(t, repaired(b))
	})
}

// TestMutants changes a few bytes of each seed and corrects the checksums. The random numbers are
// the same in each run.
func TestMutants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	all := seeds(t)
	require.NotEmpty(t, all)
	refused := 0
	const mutants = 250
	for range mutants {
		b := slices.Clone(all[r.IntN(len(all))])
		for range 1 + r.IntN(3) {
			at := r.IntN(len(b))
			switch r.IntN(4) {
			case 0:
				b[at] = byte(r.Uint32())
			case 1:
				b[at] ^= 1 << r.IntN(8)
			case 2:
				copy(b[at:], []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F})
			default:
				from := r.IntN(len(b))
				copy(b[at:], b[from:min(from+8, len(b))])
			}
		}
		if look(t, repaired(b)) != nil {
			refused++
		}
	}
	t.Logf("%d of %d mutants refused", refused, mutants)
	require.Greater(t, refused, mutants/5)
}

// FuzzDecode decodes any bytes with filters in any order. The result must be an error of package
// format, or at most the requested number of bytes.
func FuzzDecode(f *testing.F) {
	var deflated bytes.Buffer
	z := zlib.NewWriter(&deflated)
	_, err := z.Write(make([]byte, 3000))
	require.NoError(f, err)
	require.NoError(f, z.Close())
	f.Add([]byte{1}, uint32(0), uint32(0), uint16(3000), deflated.Bytes())
	f.Add([]byte{2, 1}, uint32(4), uint32(0), uint16(3000), deflated.Bytes())
	f.Add([]byte{2, 3}, uint32(3), uint32(2), uint16(9), []byte("not three"))
	f.Add([]byte{3}, uint32(0), uint32(0), uint16(4), make([]byte, 8))
	f.Add([]byte{3, 4}, uint32(0), uint32(0), uint16(1), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, filters []byte, value, mask uint32, size uint16, b []byte) {
		var l h5file.Pipeline
		for _, id := range filters[:min(len(filters), 8)] {
			l.Filters = append(l.Filters, h5file.Filter{ID: h5file.FilterID(id), Values: []uint32{value}})
		}
		before := slices.Clone(b)
		out, err := l.Decode(mask, b, uint64(size))
		require.Equal(t, before, b, "the stored bytes were changed")
		if err != nil {
			var e *format.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.LessOrEqual(t, len(out), int(size))
	})
}
