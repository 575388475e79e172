package h5check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5check"
)

// TestLongEnough checks that chunks that are shorter than the input libhdf5's filter reads
// are rejected before it runs. Cases include n-bit and scale-offset for all bits of an element, in
// which they do nothing, and skipped filters.
func TestLongEnough(t *testing.T) {
	nbit := func(bits uint32) h5.Filter { // of 10 numbers of 4 bytes
		none := uint32(0)
		if bits == 32 {
			none = 1
		}
		return h5.Filter{ID: h5.FilterNbit, Values: []uint32{8, none, 10, 1, 4, 0, bits, 0}}
	}
	deflated := func(n int) []byte {
		p, err := filter.New([]h5.Filter{{ID: h5.FilterDeflate, Values: []uint32{1}}}, filter.Options{})
		require.NoError(t, err)
		b, _, err := p.Encode(nil, make([]byte, n))
		require.NoError(t, err)
		return b
	}
	zip := h5.Filter{ID: h5.FilterDeflate, Values: []uint32{1}}
	for name, tt := range map[string]struct {
		filters []h5.Filter
		mask    uint32
		stored  []byte
		want    string // "" if it is long enough
	}{
		"n-bit":                       {[]h5.Filter{nbit(20)}, 0, make([]byte, 25), ""},
		"n-bit, short":                {[]h5.Filter{nbit(20)}, 0, make([]byte, 24), "24 bytes for nbit"},
		"n-bit of all bits":           {[]h5.Filter{nbit(32)}, 0, make([]byte, 40), ""},
		"n-bit of all bits, short":    {[]h5.Filter{nbit(32)}, 0, make([]byte, 3), "3 bytes without its filters"},
		"n-bit left out":              {[]h5.Filter{nbit(20)}, 1, make([]byte, 40), ""},
		"n-bit left out, short":       {[]h5.Filter{nbit(20)}, 1, make([]byte, 25), "25 bytes without its filters"},
		"n-bit and deflate":           {[]h5.Filter{nbit(20), zip}, 0, deflated(25), ""},
		"n-bit and deflate, short":    {[]h5.Filter{nbit(20), zip}, 0, deflated(24), "24 bytes for nbit"},
		"n-bit, deflate left out":     {[]h5.Filter{nbit(20), zip}, 2, make([]byte, 24), "24 bytes for nbit"},
		"n-bit left out, and deflate": {[]h5.Filter{nbit(20), zip}, 1, deflated(25), "25 bytes without its filters"},
		"deflate and n-bit":           {[]h5.Filter{zip, nbit(20)}, 0, make([]byte, 25), ""},
	} {
		err := h5check.LongEnough(tt.filters, tt.mask, tt.stored, 4, 40)
		if tt.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, format.ErrCorrupt, name)
		require.ErrorContains(t, err, tt.want, name)
	}
}
