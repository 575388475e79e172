package crosscheck

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

// TestFull_rows checks that evenly spaced rows of the full product of parameters can be written
// and read back with the same values. `make crosscheck-full` writes all rows.
func TestFull_rows(t *testing.T) {
	t.Parallel()
	e := &emitter{dir: t.TempDir(), full: true, m: &Manifest{Versions: make(map[string]string)}}
	d, err := cblosc.NewDecompressor(nil)
	require.NoError(t, err)
	defer d.Close()
	always := func(map[string]string) bool { return true }
	for _, x := range []struct {
		area    string
		ps      []parameter
		allowed func(map[string]string) bool
		step    int // a prime that does not divide the number of values of any parameter
		add     func(v map[string]string, i int) error
	}{
		{"chunk", chunkParameters, chunkAllowed, 1009, func(v map[string]string, i int) error { return e.chunk(d, v, uint64(i)) }},
		{"frame", frameParameters, frameAllowed, 61, func(v map[string]string, i int) error { return e.frame(v, uint64(i)) }},
		{"b2nd", arrayParameters, arrayAllowed, 499, func(v map[string]string, i int) error { return e.array("b2nd", v, i) }},
		{"bcolz", bcolzParameters, always, 1009, func(v map[string]string, i int) error { return e.bcolz(t.Context(), v, uint64(i)) }},
		{"hdf5", hdf5Parameters, hdf5Allowed, 499, func(v map[string]string, i int) error {
			if err := e.hdf5Dataset(v, uint64(i)); !hdf5Declined(v, err) {
				return err
			}
			return nil
		}},
	} {
		step, least := x.step, 90
		if sampling() {
			step, least = 5*x.step, 18
		}
		k, made := 0, 0
		pairwise.Each(x.ps, func(row []int) {
			if k++; k%step != 0 {
				return
			}
			if v := values(x.ps, row); x.allowed(v) {
				require.NoError(t, x.add(v, k), x.area)
				made++
			}
		})
		require.Greater(t, made, least, x.area)
		t.Logf("%s: %d of %d rows", x.area, made, k)
	}
}
