package h5_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// written creates a dataset that contains v, with the type that T is stored as.
func written[T any](t testing.TB, f *h5.File, name string, v []T) *h5.Dataset {
	t.Helper()
	dt, err := h5value.DatatypeFor[T]()
	require.NoError(t, err)
	return writtenAs(t, f, name, dt, v)
}

func writtenAs[T any](t testing.TB, f *h5.File, name string, dt h5.Datatype, v []T) *h5.Dataset {
	t.Helper()
	d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(int64(len(v))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, v, h5.All))
	return d
}

// stored creates a dataset of the given type that contains v.
func stored[T any](t testing.TB, f *h5.File, name string, dt h5.Datatype, v []T) *h5.Dataset {
	t.Helper()
	d, err := f.Root().CreateDataset(name, dt, h5.SimpleSpace(int64(len(v))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, v, region([]int64{0}, []int64{int64(len(v))})))
	return d
}

func second[T any](_ T, err error) error { return err }

// inside is a compound of one member. The conversions of this package are used for its values
// instead of libhdf5's.
type inside[T any] struct {
	V T `h5:"v"`
}

type point struct {
	X, Y float64
}

type station struct {
	ID      int32      `h5:"id"`
	Name    string     `h5:"name"`
	Code    string     `h5:"code,size=4"`
	At      point      `h5:"at"`
	Grid    [2][3]int8 `h5:"grid"`
	Series  []float32  `h5:"series"`
	Notes   []string   `h5:"notes"`
	Track   []point    `h5:"track"`
	Deep    [][]uint16 `h5:"deep"`
	Phase   complex128 `h5:"phase"`
	Active  bool       `h5:"active"`
	Ignored int        `h5:"-"`
}

func someStations() []station {
	return []station{
		{ID: 1, Name: "Zürich", Code: "ZRH", At: point{1.5, -2}, Grid: [2][3]int8{{1, 2, 3}, {-4, 5, -6}}, Series: []float32{1, 2.5},
			Notes: []string{"", "two words", "é"}, Track: []point{{1, 2}, {3, 4}}, Deep: [][]uint16{{1}, {}, {2, 3}}, Phase: 1 + 2i, Active: true},
		{ID: math.MinInt32, Series: []float32{}, Notes: []string{}, Track: []point{}, Deep: [][]uint16{}},
	}
}

// readStrings reads the elements of r as strings.
func readStrings(d *h5.Dataset, r h5.Region) ([]string, error) {
	s := make([]string, max(r.NumElems(), 0))
	return s, h5value.Read(d, s, r)
}
