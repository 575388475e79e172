// Archive, which writes vectors for use without this module.

package crosscheck

import (
	"archive/zip"
	"compress/flate"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
)

// archiveSchema is the version of the archive's manifest.
const archiveSchema = "hyperslab.crosscheck.archive/1"

// archiveName is the directory in the archive.
const archiveName = "hyperslab-crosscheck-1"

// archiveValues is the number of decoded bytes up to which the manifest contains the values.
const archiveValues = 4 << 10

//go:embed archive/judge.py
var judgePython string

//go:embed archive/judge.mjs
var judgeJavaScript string

//go:embed archive/README.md
var archiveReadme string

// archiveManifest is the manifest of an archive.
type archiveManifest struct {
	Schema   string            `json:"schema"`
	Versions map[string]string `json:"versions"` // of the libraries that determine the bytes
	Cases    []archiveCase     `json:"cases"`
	Rules    []archiveRule     `json:"rules"`
}

type archiveCase struct {
	ID      string            `json:"id"`
	Area    string            `json:"area"`
	Path    string            `json:"path"`
	Object  string            `json:"object,omitempty"`
	Files   map[string]string `json:"files"` // SHA-256 of the files of the case
	Must    Must              `json:"must"`
	Rule    string            `json:"rule,omitempty"`
	Section string            `json:"section"`
	Since   map[string]string `json:"since,omitempty"`
	DType   string            `json:"dtype,omitempty"`
	Shape   []int64           `json:"shape"`
	Bytes   int64             `json:"bytes"`
	Decoded string            `json:"decoded"`          // SHA-256; "" if the content is unspecified
	Little  string            `json:"little,omitempty"` // SHA-256 with little-endian numbers, for HDF5 types without a dtype
	Base64  *string           `json:"base64,omitempty"`
	Numbers []any             `json:"numbers,omitzero"`
	Single  bool              `json:"single,omitempty"` // Numbers are compared as float32
}

type archiveRule struct {
	Document string `json:"document"`
	Section  string `json:"section"`
	Rule     string `json:"rule"`
}

// Archive writes the vectors that o selects to w as a ZIP file for use without this module:
// the files, a manifest with values, the rules, and judges in Python and JavaScript. A nil o is the
// small set. Two archives are identical. Archive returns the manifest of the vectors.
func Archive(ctx context.Context, w io.Writer, o *Options) (*Manifest, error) {
	if o == nil {
		o = &Options{Small: true}
	}
	var m *Manifest
	err := atomicfile.Scratch(ctx, "vectors", func(dir string) (err error) {
		if m, err = Emit(ctx, dir, o); err != nil {
			return err
		}
		if err := writeArchive(w, dir, m); err != nil {
			return fmt.Errorf("crosscheck: archive: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func writeArchive(w io.Writer, dir string, m *Manifest) error {
	a := archiveManifest{Schema: archiveSchema, Versions: m.Versions, Cases: make([]archiveCase, 0, len(m.Cases))}
	files := make(map[string]string)
	for _, c := range m.Cases {
		x, err := newArchiveCase(dir, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		a.Cases = append(a.Cases, x)
		maps.Copy(files, x.Files)
	}
	rules, err := parseRules(rulesText)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if r.excluded == "" {
			a.Rules = append(a.Rules, archiveRule{r.document, r.section, r.text})
		}
	}
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return err
	}
	judge := strings.NewReplacer("{{manifest}}", hexSum(text))
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	add := func(name string, b []byte) error {
		f, err := z.Create(path.Join(archiveName, name))
		if err == nil {
			_, err = f.Write(b)
		}
		return err
	}
	for _, f := range []struct{ name, text string }{
		{"README.md", archiveReadme}, {"archive.json", string(text)}, {"judge.mjs", judge.Replace(judgeJavaScript)}, {"judge.py", judge.Replace(judgePython)},
	} {
		if err := add(f.name, []byte(f.text)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil {
			err = add(name, b)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// newArchiveCase describes a case, with the values if they are few.
func newArchiveCase(dir string, c Case) (x archiveCase, err error) {
	x = archiveCase{ID: c.ID, Area: c.Area, Path: c.Path, Object: c.Object, Files: make(map[string]string), Must: c.Must, Rule: c.Rule, Section: c.Section, Since: c.Since}
	if c.Area == "metalayer" {
		x.Object = c.Params["name"]
	}
	names := []string{c.Path}
	for _, name := range c.Beside {
		names = append(names, path.Join(path.Dir(c.Path), name))
	}
	for _, name := range names {
		err = filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(name)), func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, p)
			x.Files[filepath.ToSlash(rel)] = hexSum(b)
			return err
		})
		if err != nil {
			return x, err
		}
	}
	d := c.Decoded
	if d == nil {
		return x, nil
	}
	x.DType, x.Shape, x.Bytes, x.Decoded = d.DType, append([]int64{}, d.Shape...), d.Bytes, d.SHA256
	if d.SHA256 == "" {
		return x, nil
	}
	b, err := Decode(dir, c)
	if err != nil {
		return x, err
	}
	if d.Bytes <= archiveValues {
		x.Base64 = new(base64.StdEncoding.EncodeToString(b))
	}
	dtype, item := d.DType, d.Item
	if dtype == "" && c.Area == "hdf5" { // for example a compound, or integers with padding
		name := filepath.Join(dir, filepath.FromSlash(c.Path))
		little, err := hdf5Little(name, c.Object, b)
		if err != nil {
			return x, err
		}
		if little != nil {
			x.Little = hexSum(little)
		}
		if b, dtype, err = hdf5Numbers(name, c.Object); err != nil {
			return x, err
		}
		item = 8
	}
	x.Numbers, x.Single = archiveNumbers(b, dtype, item), single(dtype, d.Item)
	return x, nil
}

// numeric reports whether elements are numbers that JSON has.
func numeric(dtype string, item int) bool {
	return len(dtype) >= 3 && strings.ContainsRune("iufb", rune(dtype[1])) && 0 < item && item <= 8
}

// single reports whether numbers have at most the precision of float32.
func single(dtype string, item int) bool {
	return strings.HasPrefix(strings.TrimLeft(dtype, "<>"), "f") && item <= 4
}

// archiveNumbers returns the elements as JSON numbers, and as strings where JSON has none: NaN,
// infinities, and integers whose magnitude reaches 2^53. It returns nil if the elements are no
// numbers.
func archiveNumbers(b []byte, dtype string, item int) []any {
	if !numeric(dtype, item) {
		return nil
	}
	v := make([]any, 0, len(b)/item)
	for i := 0; i+item <= len(b); i += item {
		v = append(v, jsonNumber(b[i:i+item], dtype))
	}
	return v
}

// jsonNumber returns an element as a JSON number, or as a string.
func jsonNumber(e []byte, dtype string) any {
	x := numberOf(e, dtype)
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[x > 0]
	case dtype[1] == 'f':
		return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
	}
	u := uintOf(e, dtype)
	text := strconv.FormatUint(u, 10)
	if dtype[1] == 'i' {
		shift := 64 - 8*len(e)
		text = strconv.FormatInt(int64(u<<shift)>>shift, 10)
	}
	if math.Abs(x) >= 1<<53 {
		return text
	}
	return json.Number(text)
}
