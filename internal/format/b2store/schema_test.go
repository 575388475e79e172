package b2store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
)

func TestParseSchema_nulls(t *testing.T) {
	const text = `{"version": 3, "columns": [
		{"name": "NaN \"NaN\" \\", "kind": "float64", "default": NaN, "nullable": true, "null_value": NaN},
		{"name": "b", "kind": "float32", "ge": -Infinity, "le": Infinity, "null_value": -Infinity},
		{"name": "c", "kind": "string", "nullable": true, "null_value": "NaN"},
		{"name": "d", "kind": "int8", "nullable": true, "null_storage": "mask"},
		{"name": "e", "kind": "int8", "null_value": null}]}`
	columns, err := b2store.ParseSchema(text, b2store.Limits{})
	require.NoError(t, err)
	require.Equal(t, `NaN "NaN" \`, columns[0].Name)
	for i, want := range []string{`"NaN"`, `"-Infinity"`, `"NaN"`, "", ""} {
		require.Equal(t, want, string(columns[i].Null))
	}
	require.True(t, columns[3].Mask && columns[3].Nullable)
	require.False(t, columns[4].Nullable)
	for _, text := range []string{`{"version": 1, "columns": [NaN]`, `{"version": 1, "columns": [{"name": "`, `{"version": nan}`, `{"version": 1, "columns": [{"name": "a\`} {
		_, err := b2store.ParseSchema(text, b2store.Limits{})
		require.ErrorIs(t, err, format.ErrCorrupt, text)
	}
}

func TestColumnOf(t *testing.T) {
	for path, name := range map[string]string{"a": "a", "a/b": "a.b", "50%25": "50%", "a%2Eb": `a\.b`, "b%5Cs": `b\\s`, "sl%2Fash": "sl/ash", "p%252F": "p%2F", "ü": "ü", "bias:0": "bias:0"} {
		require.Equal(t, name, b2store.ColumnOf(path))
		require.Equal(t, path, b2store.ColumnPath(name))
	}
}

func TestTree_Order(t *testing.T) {
	objects := map[string]int{"/t/z": 0, "/t/a/y": 0, "/t/a/x": 0, "/t/b": 0, "/b": 0, "/a": 0, "/t/extra": 0}
	tree, err := b2store.NewTree(objects, nil, b2store.Limits{})
	require.NoError(t, err)
	tree.Order("/t", []string{"/t/z", "/t/a/y", "/t/b", "/t/a/x", "/t/absent"})
	for group, want := range map[string][]string{"/": {"a", "b", "t"}, "/t": {"z", "a", "b", "extra"}, "/t/a": {"y", "x"}} {
		members, ok := tree.Members(group)
		require.True(t, ok)
		require.Equal(t, want, members, group)
	}
}
