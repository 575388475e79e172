package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestHandler_stats_unstored requests the statistics of 2^36 elements, of which 1,000 are stored in
// one row.
func TestHandler_stats_unstored(t *testing.T) {
	dir := t.TempDir()
	spec := ndarray.Spec{Shape: []int64{1 << 18, 1 << 18}, ChunkShape: []int64{256, 1024}, DType: ndarray.DTypeOf[float64]()}
	for name, location := range map[string]string{"a.h5": "a.h5:/a", "a.b2nd": "a.b2nd"} {
		d, err := hyperslab.Create(t.Context(), filepath.Join(dir, location), spec, nil)
		require.NoError(t, err)
		values := make([]float64, 1000)
		for i := range values {
			values[i] = 1 << 36
		}
		require.NoError(t, ndarray.Write(t.Context(), d.Array, values, ndarray.Region{Start: []int64{1000, 500}, Shape: []int64{1, 1000}}))
		require.NoError(t, d.Commit(t.Context()))
		require.NoError(t, d.Close())
		h, err := New(dir, &Options{Trusted: true})
		require.NoError(t, err)
		for selection, mean := range map[string]float64{"": 1000, "1000:1001,:": 1000 << 18} {
			began := time.Now()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/stats?file="+name+"&path=/a&selection="+selection, nil))
			require.Equal(t, 200, w.Code, w.Body)
			var got struct{ Min, Max, Mean float64 }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Zero(t, got.Min, name)
			require.Equal(t, float64(1<<36), got.Max, name)
			require.InEpsilon(t, mean, got.Mean, 1e-12, name)
			require.Less(t, time.Since(began), 30*time.Second)
		}
		require.NoError(t, h.Close())
	}
}
