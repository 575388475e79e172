// The small set of vectors, for tests that must be fast or travel with a source tree.

package crosscheck

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/format"
)

// smallFile is the size in bytes up to which every vector belongs to the small set.
const smallFile = 2 << 10

// reduce deletes vectors that do not belong to the small set. The small set contains the vectors of
// at most smallFile bytes, for each rule of rules.txt the smallest vector that exercises it, and
// the valid vector of each invalid one. describe returns the annotated fields of a vector.
func (e *emitter) reduce(describe func(Case) (format.Field, error)) error {
	rules, err := newRuleIndex(rulesText)
	if err != nil {
		return err
	}
	smallest := make([]*Case, len(rules.rules))
	cases := make(map[string]*Case, len(e.m.Cases))
	keep := make(map[string]bool)
	seen := make(map[string]bool)
	for i := range e.m.Cases {
		c := &e.m.Cases[i]
		cases[c.ID] = c
		if c.Bytes <= smallFile {
			keep[c.Path] = true
		}
		if seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		f, err := describe(*c)
		if err != nil {
			return err
		}
		for _, k := range rules.exercised(*c, f) {
			if s := smallest[k]; s == nil || c.Bytes < s.Bytes {
				smallest[k] = c
			}
		}
	}
	for _, c := range smallest {
		if c != nil {
			keep[c.Path] = true
		}
	}
	for _, c := range e.m.Cases {
		if base := cases[c.Params["base"]]; keep[c.Path] && base != nil {
			keep[base.Path] = true
		}
	}
	beside := make(map[string]bool)
	e.m.Cases = slices.DeleteFunc(e.m.Cases, func(c Case) bool {
		for _, name := range c.Beside {
			name = filepath.Join(filepath.Dir(e.at(c.Path)), name)
			beside[name] = beside[name] || keep[c.Path]
		}
		return !keep[c.Path]
	})
	for path := range seen {
		if !keep[path] {
			if err := os.RemoveAll(e.at(path)); err != nil {
				return err
			}
		}
	}
	for name, kept := range beside {
		if !kept {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	e.m.Coverage = nil // of all vectors
	return removeEmpty(e.dir)
}

// at returns the name of a file of the manifest.
func (e *emitter) at(path string) string { return filepath.Join(e.dir, filepath.FromSlash(path)) }

// place returns the name of a new file of the output, and makes its directory. The output itself is
// not made again, because an interrupted command removes it, possibly before Emit returns.
func (e *emitter) place(path string) (string, error) {
	name := e.at(path)
	return name, makeBelow(e.dir, filepath.Dir(name))
}

// makeBelow makes the directory dir and its parents, but neither root nor those above it.
func makeBelow(root, dir string) error {
	if dir == root {
		return nil
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != root {
		if err = makeBelow(root, filepath.Dir(dir)); err == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeEmpty removes the directories below dir that contain no files.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		name := filepath.Join(dir, entry.Name())
		if err := removeEmpty(name); err != nil {
			return err
		}
		if left, err := os.ReadDir(name); err != nil {
			return err
		} else if len(left) > 0 {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
