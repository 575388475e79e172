// Test of concurrent recoveries of the same corrupt file.

package recovery_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestManyGoroutines(t *testing.T) {
	for _, location := range []string{"a.b2nd", "a.h5:/x", "a.bcolz"} {
		src := save(t, location, nil)
		before := content(t, src)
		dir := t.TempDir()
		l, err := locate.Parse(filepath.Join(dir, location))
		require.NoError(t, err)
		errs := make([]error, 64)
		reports := make([]*recovery.Report, len(errs))
		var all sync.WaitGroup
		for g := range errs {
			all.Go(func() {
				to := l
				to.File = filepath.Join(dir, fmt.Sprint(g)+filepath.Ext(src))
				if reports[g], errs[g] = recovery.Recover(bg, to.File, src, nil); errs[g] != nil {
					return
				}
				a, err := hyperslab.Open(bg, to.String(), nil)
				if err != nil {
					errs[g] = err
					return
				}
				v, err := ndarray.ReadAll[int64](bg, a)
				if err == nil && !slices.Equal(squares(600), v) {
					err = fmt.Errorf("%s holds other values", to)
				}
				errs[g] = errors.Join(err, a.Close())
			})
		}
		all.Wait()
		for g, err := range errs {
			require.NoError(t, err, location)
			require.Equal(t, recovery.ExitWhole, reports[g].ExitCode(), location)
			require.Equal(t, reports[0].Unverified, reports[g].Unverified, location)
		}
		require.Positive(t, reports[0].Certain+reports[0].Unverified, location)
		require.Equal(t, before, content(t, src), location)
	}
}
