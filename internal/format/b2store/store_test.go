package b2store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "g/h"), 0o755))
	for _, name := range []string{"embed.b2e", "g/a.b2nd", "g/h/b.b2f"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	read := func(l b2store.Limits) ([]b2store.Member, error) {
		root, err := os.OpenRoot(dir)
		require.NoError(t, err)
		defer func() { require.NoError(t, root.Close()) }()
		return b2store.ReadDir(root.FS(), l)
	}
	members, err := read(b2store.Limits{})
	require.NoError(t, err)
	require.Equal(t, []b2store.Member{{Name: "embed.b2e", Size: 9}, {Name: "g/a.b2nd", Size: 8}, {Name: "g/h/b.b2f", Size: 9}}, members)
	_, err = read(b2store.Limits{Objects: 3})
	require.ErrorIs(t, err, format.ErrLimit)
	require.NoError(t, os.Symlink("a.b2nd", filepath.Join(dir, "g/link.b2nd")))
	_, err = read(b2store.Limits{})
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.NoError(t, os.Remove(filepath.Join(dir, "g/link.b2nd")))
	require.NoError(t, os.Symlink("/", filepath.Join(dir, "out")))
	_, err = read(b2store.Limits{})
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.NoError(t, os.Remove(filepath.Join(dir, "out")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 300)), 0o755))
	_, err = read(b2store.Limits{})
	require.ErrorIs(t, err, format.ErrLimit)
}

// TestKeyOf compares keys with the results of Python's os.path.splitext.
func TestKeyOf(t *testing.T) {
	for name, want := range map[string]string{
		"a.b2nd": "/a", "g/a.b2f": "/g/a", "g/a.b2b": "/g/a", "g.x/a.b.b2nd": "/g.x/a.b", ".x.b2nd": "/.x",
		"a.other": "/a", "g.b2nd/x": "/g.b2nd/x", ".b2nd": "/.b2nd", "..b2nd": "/..b2nd", "g/.b2nd": "/g/.b2nd",
	} {
		key, known := b2store.KeyOf(name)
		require.Equal(t, want, key, name)
		require.Equal(t, strings.TrimSuffix(want, name) == want && name != "a.other", known, name)
	}
}

func kv(key string, value any) msgpack.Pair { return msgpack.Pair{Key: key, Value: value} }

func span(offset, length int64) msgpack.Map {
	return msgpack.Map{kv("offset", offset), kv("length", length)}
}

func TestParseMap(t *testing.T) {
	content := func(pairs ...msgpack.Pair) []byte {
		return msgpack.Append(nil, msgpack.Map{kv("embed_map", msgpack.Map(pairs)), kv("current_offset", int64(9))})
	}
	got, err := b2store.ParseMap(content(kv("/x/b", span(10, 5)), kv("/a", span(0, 10)),
		kv("/r", msgpack.Map{kv("urlbase", "http://host"), kv("path", "p")})), 15, b2store.Limits{})
	require.NoError(t, err)
	require.Equal(t, []b2store.Embedded{{Key: "/a", Length: 10}, {Key: "/r", Remote: "http://host p"}, {Key: "/x/b", Offset: 10, Length: 5}}, got)
	deep := []byte(strings.Repeat("\x81\xa1k", 100) + "\x01")
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, format.ErrTruncated},
		{"a number", []byte{1}, format.ErrCorrupt},
		{"deep nesting", deep, format.ErrLimit},
		{"range beyond the values", content(kv("/a", span(10, 6))), format.ErrCorrupt},
		{"offset that overflows", content(kv("/a", span(1<<62, 1<<62))), format.ErrCorrupt},
		{"negative offset", content(kv("/a", span(-1, 1))), format.ErrCorrupt},
		{"negative length", content(kv("/a", span(1, -1))), format.ErrCorrupt},
		{"overlap", content(kv("/a", span(0, 5)), kv("/b", span(4, 5))), format.ErrCorrupt},
		{"same key twice", content(kv("/a", span(0, 5)), kv("/a", span(5, 5))), format.ErrCorrupt},
		{"relative key", content(kv("a", span(0, 5))), format.ErrCorrupt},
		{"root key", content(kv("/", span(0, 5))), format.ErrCorrupt},
		{"parent in a key", content(kv("/../a", span(0, 5))), format.ErrCorrupt},
		{"no range", content(kv("/a", int64(1))), format.ErrCorrupt},
		{"no end", msgpack.Append(nil, msgpack.Map{kv("embed_map", msgpack.Map{kv("/a", span(0, 5))})}), format.ErrCorrupt},
	} {
		_, err := b2store.ParseMap(c.b, 15, b2store.Limits{})
		require.ErrorIs(t, err, c.want, c.name)
	}
	_, err = b2store.ParseMap(content(kv("/a", span(0, 1)), kv("/b", span(1, 1))), 15, b2store.Limits{Objects: 1})
	require.ErrorIs(t, err, format.ErrLimit)
}

func TestParseRegistry(t *testing.T) {
	got, err := b2store.ParseRegistry(msgpack.Append(nil, msgpack.Map{kv("/t", msgpack.Map{kv("kind", "ctable"), kv("version", int64(1))})}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"/t": "ctable"}, got)
	for _, v := range []any{int64(1), msgpack.Map{kv("/t", int64(1))}, msgpack.Map{kv("../t", msgpack.Map{kv("kind", "ctable")})}, msgpack.Map{kv("/t", msgpack.Map{kv("kind", int64(1))})}} {
		_, err := b2store.ParseRegistry(msgpack.Append(nil, v))
		require.ErrorIs(t, err, format.ErrCorrupt)
	}
}

func TestNewTree(t *testing.T) {
	tree, err := b2store.NewTree(map[string]int{"/g/b": 1, "/g/a": 2, "/c": 3, "/g/h/i/d": 4}, []string{"/", "/e/f"}, b2store.Limits{})
	require.NoError(t, err)
	for group, want := range map[string][]string{"/": {"c", "e", "g"}, "/g": {"a", "b", "h"}, "/g/h": {"i"}, "/g/h/i": {"d"}, "/e": {"f"}, "/e/f": nil} {
		names, ok := tree.Members(group)
		require.True(t, ok, group)
		require.Equal(t, want, names, group)
	}
	x, ok := tree.Object("/g/a")
	require.True(t, ok)
	require.Equal(t, 2, x)
	_, ok = tree.Members("/c")
	require.False(t, ok)
	_, err = b2store.NewTree(map[string]int{"/a": 1, "/a/b": 2}, nil, b2store.Limits{})
	require.ErrorIs(t, err, format.ErrUnsupported)
	_, err = b2store.NewTree(map[string]int{"/a": 1}, []string{"/a"}, b2store.Limits{})
	require.ErrorIs(t, err, format.ErrUnsupported)
	_, err = b2store.NewTree(map[string]int{"/a": 1, "/b/c/d": 2}, nil, b2store.Limits{Objects: 4})
	require.ErrorIs(t, err, format.ErrLimit)
}

func FuzzParseMap(f *testing.F) {
	f.Add(msgpack.Append(nil, msgpack.Map{kv("embed_map", msgpack.Map{kv("/a", span(0, 5))})}))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := b2store.ParseMap(b, 1000, b2store.Limits{})
		if err != nil {
			var e *format.Error
			require.ErrorAs(t, err, &e)
			return
		}
		for _, x := range all {
			require.LessOrEqual(t, x.Offset+x.Length, int64(1000))
		}
	})
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"/a", "/g/a b.c", "/ä/ö", "/" + strings.Repeat("g/", 250) + "a"} {
		require.NoError(t, b2store.CheckKey(key), key)
	}
	for _, key := range []string{
		"/../a", "/g/../a", "/./a", "/g/..", "//a", "/a/", "/", "/g:/a", `/g\a`, "/a\n", "/\xff", "/__vlmeta__/a", "/t/_meta",
		"/" + strings.Repeat("a", 251), "/" + strings.Repeat("g/", 300) + "a", strings.Repeat("/"+strings.Repeat("a", 200), 25),
	} {
		require.ErrorIs(t, b2store.CheckKey(key), errors.ErrUnsupported, key)
	}
}
