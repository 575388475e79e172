package h5_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

func names(t *testing.T, o h5.Object, order h5.ListOrder) []string {
	t.Helper()
	var out []string
	for a, err := range o.AttributesIn(order) {
		require.NoError(t, err)
		out = append(out, a.Name)
	}
	return out
}

// TestAttributes_Order checks attributes in creation order, by index, and after they are renamed
// and deleted.
func TestAttributes_Order(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{AttributeOrder: h5.IndexedCreationOrder})
	require.NoError(t, err)
	made := []string{"zeta", "alpha", "mü", "beta"}
	for i, name := range made {
		require.NoError(t, h5value.WriteAttr(g, name, []int16{int16(i)}, h5.ScalarSpace()))
	}
	sorted := slices.Sorted(slices.Values(made))
	require.Equal(t, made, names(t, g, h5.ByCreation))
	require.Equal(t, sorted, names(t, g, h5.ByName))
	slices.Reverse(sorted)
	require.Equal(t, sorted, names(t, g, h5.ByNameDescending))
	require.ElementsMatch(t, made, names(t, g, h5.AsStored))
	a, err := g.AttributeAt(h5.ByCreation, 2)
	require.NoError(t, err)
	require.Equal(t, h5.AttributeInfo{Name: "mü", Datatype: h5.Int(2, h5.NativeOrder), Space: h5.ScalarSpace(), Order: 2, CharSet: h5.UTF8, Bytes: 2}, a)
	same, err := g.AttributeInfo("mü")
	require.NoError(t, err)
	require.Equal(t, a, same)

	require.NoError(t, g.RenameAttribute("mü", "mu"))
	require.NoError(t, g.DeleteAttributeAt(h5.ByCreation, 0))
	require.ElementsMatch(t, []string{"alpha", "beta", "mu"}, names(t, g, h5.ByName))
	for name, want := range map[string]bool{"mu": true, "mü": false, "zeta": false} {
		has, err := g.HasAttribute(name)
		require.NoError(t, err)
		require.Equal(t, want, has, name)
	}
	v, err := h5value.ReadAttr[int](g, "mu")
	require.NoError(t, err)
	require.Equal(t, []int{2}, v)

	plain, err := f.Root().CreateGroup("plain")
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(plain, "a", []string{"x"}))
	for name, tt := range map[string]struct{ err, want error }{
		"not there":        {second(g.AttributeInfo("no")), h5.ErrNotFound},
		"rename what":      {g.RenameAttribute("no", "x"), h5.ErrNotFound},
		"rename onto":      {g.RenameAttribute("mu", "beta"), h5.ErrExists},
		"rename to naught": {g.RenameAttribute("mu", ""), h5.ErrParam},
		"past the end":     {second(g.AttributeAt(h5.ByName, 3)), h5.ErrRegion},
		"before the start": {second(g.AttributeAt(h5.ByName, -1)), h5.ErrParam},
		"delete past":      {g.DeleteAttributeAt(h5.ByName, 3), h5.ErrRegion},
		"delete before":    {g.DeleteAttributeAt(h5.ByName, -1), h5.ErrParam},
		"no order kept":    {second(plain.AttributeAt(h5.ByCreation, 0)), h5.ErrNoOrder},
		"no such order":    {second(plain.AttributeAt(77, 0)), h5.ErrParam},
		"zero in the name": {second(plain.HasAttribute("a\x00")), h5.ErrParam},
		"a wrong type":     {second(h5value.ReadAttr[int](plain, "a")), h5.ErrType},
		"no type":          {h5value.WriteAttr(plain, "b", []any{1}), h5.ErrType},
		"too many":         {h5value.WriteAttr(plain, "b", []int{1}, h5.SimpleSpace(2)), h5.ErrSize},
		"two spaces":       {h5value.WriteAttr(plain, "b", []int{1}, h5.SimpleSpace(1), h5.ScalarSpace()), h5.ErrParam},
	} {
		require.ErrorIs(t, tt.err, tt.want, name)
	}
	for _, err := range plain.AttributesIn(h5.ByCreation) {
		require.ErrorIs(t, err, h5.ErrNoOrder)
	}
}

// TestAttribute_deleteWhileListing checks that a loop may change the attributes and end early,
// because the lock is not held while the body runs.
func TestAttribute_deleteWhileListing(t *testing.T) {
	r := newFile(t).Root()
	for i := range 20 {
		require.NoError(t, h5value.WriteAttr(r, fmt.Sprintf("a%02d", i), []int{i}))
	}
	n := 0
	for a, err := range r.Attributes() {
		require.NoError(t, err)
		require.NoError(t, r.DeleteAttribute(a.Name))
		require.NoError(t, h5value.WriteAttr(r, "b", []int{n}))
		if n++; n == 15 {
			break
		}
	}
	require.Equal(t, []string{"a15", "a16", "a17", "a18", "a19", "b"}, names(t, r, h5.ByName))
}

// TestAttribute_unrepresentableValues checks that the values of an attribute must have its type and
// the number of elements of its dataspace.
func TestAttribute_unrepresentableValues(t *testing.T) {
	r := newFile(t).Root()
	dt, err := h5value.DatatypeFor[station]()
	require.NoError(t, err)
	values, err := h5value.Encode(dt, someStations())
	require.NoError(t, err)
	good := h5.Attribute{Name: "a", Datatype: dt, Space: h5.SimpleSpace(2), Values: values}
	require.NoError(t, r.WriteAttribute(good))
	for name, tt := range map[string]struct {
		edit func(*h5.Attribute)
		want error
	}{
		"another type":    {func(a *h5.Attribute) { a.Datatype = h5value.Bool() }, h5.ErrType},
		"another number":  {func(a *h5.Attribute) { a.Space = h5.ScalarSpace() }, h5.ErrSize},
		"none":            {func(a *h5.Attribute) { a.Values = h5.Values{} }, h5.ErrSize},
		"data beside":     {func(a *h5.Attribute) { a.Data = []byte{1} }, h5.ErrParam},
		"strings beside":  {func(a *h5.Attribute) { a.Strings = []string{"a"} }, h5.ErrParam},
		"data instead":    {func(a *h5.Attribute) { a.Values, a.Data = h5.Values{}, make([]byte, 2*dt.Size) }, h5.ErrType},
		"strings instead": {func(a *h5.Attribute) { a.Values, a.Strings = h5.Values{}, []string{"a", "b"} }, h5.ErrType},
	} {
		a := good
		tt.edit(&a)
		require.ErrorIs(t, r.WriteAttribute(a), tt.want, name)
	}
	got, err := h5value.ReadAttr[station](r, "a")
	require.NoError(t, err)
	require.Equal(t, someStations(), got, "existing objects are unchanged")
}

// TestAttribute_dense checks that attributes in new file formats may be larger than an object
// header, and that an object may have many of them.
func TestAttribute_dense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V18, High: h5.LatestFormat})
	require.NoError(t, err)
	r := f.Root()
	large := make([]float64, 20_000)
	for i := range large {
		large[i] = float64(i)
	}
	text := []string{strings.Repeat("long ", 30_000)}
	require.NoError(t, h5value.WriteAttr(r, "large", large))
	require.NoError(t, h5value.WriteAttr(r, "text", text))
	for i := range 300 {
		require.NoError(t, h5value.WriteAttr(r, fmt.Sprintf("n%03d", i), []int{i}))
	}
	require.NoError(t, f.Close())
	f, err = h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	got, err := h5value.ReadAttr[float64](f.Root(), "large")
	require.NoError(t, err)
	require.Equal(t, large, got)
	words, err := h5value.ReadAttr[string](f.Root(), "text")
	require.NoError(t, err)
	require.Equal(t, text, words)
	require.Len(t, names(t, f.Root(), h5.ByName), 302)
	last, err := f.Root().AttributeAt(h5.ByNameDescending, 1)
	require.NoError(t, err)
	require.Equal(t, "n299", last.Name)

	old := newFile(t).Root()
	require.ErrorIs(t, h5value.WriteAttr(old, "large", large), h5.ErrSize)
	has, err := old.HasAttribute("large")
	require.NoError(t, err)
	require.False(t, has)
}
