// The manifest: a description of each vector and of the expected result.

package crosscheck

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Schema is the version of the manifest's format, which docs/crosscheck-manifest.md documents.
const Schema = "hyperslab.crosscheck/1"

// ManifestName is the name of the manifest in the directory of the vectors.
const ManifestName = "manifest.json"

// Manifest lists the vectors of a directory.
type Manifest struct {
	Schema   string            `json:"schema"`
	Versions map[string]string `json:"versions"`        // of the libraries that determine the bytes
	Full     bool              `json:"full"`            // every combination of parameters instead of all pairs
	Small    bool              `json:"small,omitempty"` // the small set
	Cases    []Case            `json:"cases"`
	Coverage []Coverage        `json:"coverage"` // pairs of parameters, by area
}

// Must is the required reaction of a reader to a vector.
type Must string

// Values of Must.
const (
	Accept Must = "accept"
	Refuse Must = "refuse"
)

// Case is one vector.
type Case struct {
	ID       string            `json:"id"`               // unique, and stable between versions
	Area     string            `json:"area"`             // one of Areas
	Path     string            `json:"path"`             // file or directory, relative, with slashes
	Object   string            `json:"object,omitempty"` // path inside an HDF5 file
	Beside   []string          `json:"beside,omitempty"` // files in its directory that the vector refers to
	Must     Must              `json:"must"`
	Rule     string            `json:"rule,omitempty"`  // the rule that a vector to be refused violates
	Section  string            `json:"section"`         // of the specification
	Since    map[string]string `json:"since,omitempty"` // libraries that read the vector, with the first version; empty: every version
	Params   map[string]string `json:"params,omitempty"`
	Metadata map[string]any    `json:"metadata,omitempty"` // metadata that a reader must report
	Bytes    int64             `json:"bytes"`              // size of the file, or of all files of a directory
	SHA256   string            `json:"sha256"`             // of the file, or for a directory of the lines "sha256  path\n" of all its files in the order of their paths
	Decoded  *Decoded          `json:"decoded,omitempty"`  // nil for a vector to be refused
}

// Decoded describes the bytes that a reader must produce.
type Decoded struct {
	Bytes  int64   `json:"bytes"`
	SHA256 string  `json:"sha256"`          // "" if the content is unspecified and only the number of bytes counts
	DType  string  `json:"dtype,omitempty"` // in NumPy's notation; "" if the format has none
	Shape  []int64 `json:"shape"`
	Item   int     `json:"item"`            // bytes of an element
	Lossy  bool    `json:"lossy,omitempty"` // a filter or codec changed the original elements
}

// Load reads and checks the manifest of a directory.
func Load(dir string) (*Manifest, error) {
	name := filepath.Join(dir, ManifestName)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("crosscheck: %w", err)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("crosscheck: %s: %w", name, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("crosscheck: %s: %w", name, err)
	}
	return &m, nil
}

func (m *Manifest) check() error {
	if m.Schema != Schema {
		return fmt.Errorf("schema: got %q, want %q", m.Schema, Schema)
	}
	seen := make(map[string]bool, len(m.Cases))
	for _, c := range m.Cases {
		switch {
		case c.ID == "" || seen[c.ID]:
			return fmt.Errorf("id %q is empty or not unique", c.ID)
		case !filepath.IsLocal(filepath.FromSlash(c.Path)):
			return fmt.Errorf("%s: path %q leaves the directory", c.ID, c.Path)
		case c.Must != Accept && c.Must != Refuse:
			return fmt.Errorf("%s: must: got %q, want %q or %q", c.ID, c.Must, Accept, Refuse)
		case (c.Must == Accept) != (c.Decoded != nil):
			return fmt.Errorf("%s: decoded must exist if must is %q, and only then", c.ID, Accept)
		}
		seen[c.ID] = true
	}
	return nil
}

func (m *Manifest) save(dir string) error {
	if err := m.check(); err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ManifestName), append(b, '\n'), 0o644)
}

// Areas returns the areas of the cases, sorted.
func (m *Manifest) Areas() []string {
	set := make(map[string]bool)
	for _, c := range m.Cases {
		set[c.Area] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// digest returns the size in bytes and the SHA-256 of a file. For a directory they are the size of
// all files, and the SHA-256 of the lines "sha256  path\n" of all files in the order of their
// paths.
func digest(path string) (bytes int64, digest string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "", err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		return int64(len(b)), hexSum(b), err
	}
	var lines []string
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(path, p)
		bytes += int64(len(b))
		lines = append(lines, hexSum(b)+"  "+filepath.ToSlash(rel)+"\n")
		return err
	})
	if err != nil {
		return 0, "", err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return bytes, hexSum([]byte(strings.Join(lines, ""))), nil
}

func hexSum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
