// Tables of a store.

package stores

import (
	"errors"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

// Table is a CTable.
type Table struct {
	Key     string
	Columns []b2store.Column
	Err     error              // of the schema, if it is corrupt; the table then has no columns
	parts   map[string]*Object // by key below Key

	// Rows is set by the first reader of the table, which holds Mu.
	Mu   sync.Mutex
	Rows any
}

// Parts yields the objects of the table by their keys below Key, in the order of keys.
func (t *Table) Parts() iter.Seq2[string, *Object] {
	return func(yield func(string, *Object) bool) {
		for _, key := range slices.Sorted(maps.Keys(t.parts)) {
			if !yield(key, t.parts[key]) {
				return
			}
		}
	}
}

// Part returns the object at a key below that of the table, or nil.
func (t *Table) Part(key string) *Object { return t.parts[key] }

// Table returns the table of a key, or nil if the key is no table.
func (s *Store) Table(key string) *Table { return s.tables[key] }

// findTables replaces the objects of each table by its columns, and returns the keys of the tables.
func (s *Store) findTables(objects map[string]*Object) ([]string, error) {
	var keys []string
	for key := range objects {
		if path.Base(key) == b2store.TableMeta {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var found []string
	for _, key := range keys {
		x := objects[key]
		if x == nil {
			continue // inside another table
		}
		t, err := s.table(x)
		if t == nil && (err == nil || errors.Is(err, format.ErrCorrupt) && !errors.Is(err, format.ErrLimit)) {
			continue // a corrupt frame is an object that cannot be opened, and hides no others
		}
		if err != nil {
			return nil, err
		}
		t.Key = path.Dir(key)
		prefix := strings.TrimSuffix(t.Key, "/") + "/"
		for key, x := range objects {
			if strings.HasPrefix(key, prefix) {
				t.parts[key[len(prefix):]] = x
				delete(objects, key)
			}
		}
		for _, c := range t.Columns {
			at := path.Join(t.Key, c.Path)
			objects[at] = &Object{Key: at, Table: t, Column: c}
			if x := t.Part(b2store.TableColumns + "/" + c.Path + b2store.NotNull); x != nil {
				c = b2store.Column{Name: c.Name + b2store.NotNull, Path: c.Path + b2store.NotNull, Kind: "bool"}
				objects[at+b2store.NotNull] = &Object{Key: at + b2store.NotNull, Table: t, Column: c}
			}
		}
		s.tables[t.Key] = t
		found = append(found, t.Key)
	}
	return found, nil
}

// table returns the table that an object marks, or nil if it marks none.
func (s *Store) table(x *Object) (_ *Table, err error) {
	f, err := s.frameOf(x)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := s.frame(f, f.Size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kind, err := s.text(r, "kind")
	if err != nil || kind != "ctable" {
		return nil, err
	}
	schema, err := s.text(r, "schema")
	if err != nil {
		return nil, err
	}
	t := &Table{parts: make(map[string]*Object)}
	t.Columns, err = b2store.ParseSchema(schema, s.options.Limits)
	t.Err = format.Part(err)
	return t, nil
}

// Invalid yields the tables whose schema is corrupt.
func (s *Store) Invalid() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, key := range slices.Sorted(maps.Keys(s.tables)) {
			if t := s.tables[key]; t.Err != nil && !yield(t) {
				return
			}
		}
	}
}

// order returns the keys of the columns in the order of the table, each before its mask.
func (t *Table) order() (keys []string) {
	for _, c := range t.Columns {
		at := path.Join(t.Key, c.Path)
		keys = append(keys, at, at+b2store.NotNull)
	}
	return keys
}

// text returns a variable-length metalayer that is a string, or "" for any other.
func (s *Store) text(r interface {
	VLMetalayer(string) ([]byte, error)
	VLMetalayerSize(string) (int64, int64, error)
}, name string) (string, error) {
	n, _, err := r.VLMetalayerSize(name)
	if errors.Is(err, cblosc.ErrNotFound) {
		return "", nil
	}
	if err == nil && n > s.metadata() {
		err = &format.Error{Format: "blosc2 frame", What: "metalayer " + name, Got: "more bytes", Want: "at most the limit of metadata", Err: format.ErrLimit}
	}
	if err != nil {
		return "", err
	}
	b, err := r.VLMetalayer(name)
	if err != nil {
		return "", err
	}
	v, err := msgpack.Parse(b)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", nil
}
