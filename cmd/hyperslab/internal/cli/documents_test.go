package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// documented is a key of schemas.md with its documented type.
type documented struct{ key, kind string }

// tables returns the keys in schemas.md by section title.
func tables(t *testing.T) map[string][]documented {
	t.Helper()
	text, err := os.ReadFile("schemas.md")
	require.NoError(t, err)
	all := map[string][]documented{}
	section := ""
	key := regexp.MustCompile("`([a-z0-9_]+)`")
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.TrimSpace(strings.TrimLeft(title, "#"))
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range key.FindAllStringSubmatch(cells[1], -1) {
			all[section] = append(all[section], documented{m[1], strings.TrimSpace(cells[2])})
		}
	}
	return all
}

// judge compares JSON documents with the tables of schemas.md.
type judge struct {
	tables map[string][]documented
	seen   map[string]bool // "section key" of each key that had a value
}

// object compares a JSON object with the table of a section.
func (j *judge) object(section string, doc any) error {
	object, ok := doc.(map[string]any)
	table := j.tables[section]
	if !ok || table == nil {
		return fmt.Errorf("%s: not documented, or no object: %v", section, doc)
	}
	var want []string
	for _, d := range table {
		value, there := object[d.key]
		if !there && section == "hyperslab.progress/1" {
			continue // progress documents omit keys without a value
		}
		want = append(want, d.key)
		if value == nil {
			continue
		}
		j.seen[section+" "+d.key] = true
		if err := j.value(d.kind, value); err != nil {
			return fmt.Errorf("%s: %s: %w", section, d.key, err)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(want, got) {
		return fmt.Errorf("%s: has the keys %v, documented are %v", section, got, want)
	}
	return nil
}

// value compares a value other than null with its documented type.
func (j *judge) value(kind string, v any) error {
	if of, ok := strings.CutPrefix(kind, "array of "); ok {
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("want %s, got %v", kind, v)
		}
		for _, x := range list {
			if err := j.value(of, x); err != nil {
				return err
			}
		}
		return nil
	}
	switch kind = strings.TrimSuffix(kind, " or null"); kind {
	case "string":
		if _, ok := v.(string); !ok {
			return fmt.Errorf("want a string, got %v", v)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("want true or false, got %v", v)
		}
	case "integer":
		number, ok := v.(json.Number)
		if text, quoted := v.(string); quoted { // an integer beyond 2^53 is a string
			n, err := strconv.ParseInt(text, 10, 64)
			if err == nil && (n > 1<<53 || n < -1<<53) {
				return nil
			}
		}
		if _, err := strconv.ParseInt(string(number), 10, 64); !ok || err != nil {
			return fmt.Errorf("want an integer, got %v", v)
		}
	case "number":
		_, ok := v.(json.Number)
		if text, quoted := v.(string); quoted {
			_, err := strconv.ParseInt(text, 10, 64)
			ok = err == nil || slices.Contains([]string{"NaN", "Infinity", "-Infinity"}, text)
		}
		if !ok {
			return fmt.Errorf("want a number, got %v", v)
		}
	case "object":
		if _, ok := v.(map[string]any); !ok {
			return fmt.Errorf("want an object, got %v", v)
		}
	case "value":
	case "document":
		return j.document(v)
	default:
		return j.object(kind, v)
	}
	return nil
}

func (j *judge) document(doc any) error {
	object, _ := doc.(map[string]any)
	schema, _ := object["schema"].(string)
	return j.object(schema, doc)
}

// stream compares all documents of an output and returns their number.
func (j *judge) stream(r io.Reader) (n int, err error) {
	d := json.NewDecoder(r)
	d.UseNumber()
	for {
		var doc any
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
		if err := j.document(doc); err != nil {
			return n, err
		}
		n++
	}
}

// TestJSON_documented checks that the documents that commands write with --json have exactly the
// keys of schemas.md, with values of the documented types. Each documented key must have a value
// in at least one document.
func TestJSON_documented(t *testing.T) {
	j := &judge{tables(t), map[string]bool{}}
	t.Chdir(field(t))
	makeRare(t)
	put(t, "list", []byte("waves.b2nd\nscalar.b2nd\n"))
	require.NoError(t, os.Mkdir("other", 0o777))
	elsewhere(t, "other")
	for _, line := range strings.Split(strings.TrimSpace(documentLines), "\n") {
		want := 0
		if code, rest, ok := strings.Cut(line, ": "); ok && len(code) == 1 {
			want, line = int(code[0]-'0'), rest
		}
		t.Run(line, func(t *testing.T) {
			stdout, stderr, code := run(append(strings.Fields(line), "--json")...)
			require.Equal(t, want, code, stderr)
			n, err := j.stream(strings.NewReader(stdout))
			require.NoError(t, err, stdout)
			require.Positive(t, n)
		})
	}
	cli.ShowAtOnce(t, 0)
	for _, line := range []string{"convert waves.b2nd progress.b2nd", "convert waves.b2nd --into into --format b2nd", "verify waves.b2nd"} {
		_, stderr, code := run(append(strings.Fields(line), "--progress", "json")...)
		require.Zero(t, code, stderr)
		n := 0
		for line := range strings.Lines(stderr) {
			if strings.HasPrefix(line, "{") {
				_, err := j.stream(strings.NewReader(line))
				require.NoError(t, err, line)
				n++
			}
		}
		require.Positive(t, n, line)
	}
	var never []string
	for section, table := range j.tables {
		for _, d := range table {
			if !j.seen[section+" "+d.key] {
				never = append(never, section+" "+d.key)
			}
		}
	}
	slices.Sort(never)
	require.Empty(t, never, "documented, and in none of these documents")
}

// makeRare adds files to those of field. Commands on them write documents in which the less common
// keys have values.
func makeRare(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Mkdir("directory", 0o755))
	grows := ndarray.Spec{Shape: []int64{2, 3}, MaxShape: []int64{ndarray.Unlimited, 3}, Fill: []byte{7, 0, 0, 0}}
	create(t, "grows.h5:/g", grows, []int32{1, 2, 3, 4, 5, 6})
	create(t, "lzf.h5:/old", ndarray.Spec{Shape: []int64{100}, Compression: &ndarray.Compression{Codec: "lzf"}}, make([]int32, 100))
	create(t, "small-chunks.h5:/x", ndarray.Spec{Shape: []int64{1 << 19}, ChunkShape: []int64{1 << 12}}, make([]float64, 1<<19))
	f, err := h5.Create("times.h5", &h5.CreateOptions{Low: h5.LatestFormat, High: h5.LatestFormat})
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", h5.Int(4, 0), h5.SimpleSpace(2), &h5.DatasetOptions{Times: true})
	require.NoError(t, err)
	require.NoError(t, errors.Join(d.SetComment("of the first days"), f.Close()))
	wrong, err := os.ReadFile("times.h5")
	require.NoError(t, err)
	wrong[44] ^= 1                                        // the checksum of the superblock
	wrong[bytes.LastIndex(wrong, []byte("OHDR"))+10] ^= 1 // a time in the object header of d
	put(t, "fields.h5", wrong)
	hurt, err := os.ReadFile("etopo.h5") // ROSE has one chunk, compressed with deflate
	require.NoError(t, err)
	stdout, _, code := run("chunks", "etopo.h5:/ROSE", "--json")
	require.Zero(t, code)
	var list struct{ Chunks []struct{ Offset int } }
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	copy(hurt[list.Chunks[0].Offset+100:], "not what deflate wrote")
	put(t, "hurt.h5", hurt)
	layered, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{2}, ChunkShape: []int32{2}, Blocks: []int32{2}, Storage: cblosc.Storage{Path: "layers.b2nd", Contiguous: true},
		Meta: []cblosc.Metalayer{{Name: "map", Content: []byte("\x81\xa1k\xc0")}},
	})
	require.NoError(t, err)
	require.NoError(t, layered.Close())
	_, stderr, code := run("convert", "waves.b2nd", "hurt.bcolz", "-q")
	require.Zero(t, code, stderr)
	chunk, err := os.ReadFile("hurt.bcolz/data/__0.blp")
	require.NoError(t, err)
	chunk[16] = 99 // the version of the chunk format
	put(t, "hurt.bcolz/data/__0.blp", chunk)
}

// documentLines are command lines that write documents with --json. The exit code precedes the line
// if it is not 0.
const documentLines = `
info other/a.h5:/v
info other/a.h5:/e
info waves.b2nd
ls etopo.h5
info etopo.h5:/ROSE
info changed.b2nd
info rich.b2nd
info --files-from list
info grows.h5:/g
info tree.h5:/run1
ls grows.h5
info times.h5:/d --meta
info hurt.bcolz --meta
info waves.b2nd --meta
info layers.b2nd
info layers.b2nd --meta
info tree.h5:/run1 --meta
info waves.b2nd --storage
info tree.h5 --storage
ls -r tree.h5
ls -l waves.b2nd
3: ls -r broken.h5
tree tree.h5 -L 1
3: tree broken.h5 --attributes
chunks waves.b2nd
chunks gaps.b2nd
convert waves.b2nd sparse.b2nd --sparse
convert waves.b2nd typed.b2nd --dtype i2 --round --clip
convert waves.h5 typed.b2z --dtype i2 --round --clip
convert waves.h5 --into many1 --format b2z --dtype i2 --round --clip
3: cp waves.b2nd missing.b2nd --into many2 --keep-going
recover waves.h5 --into many3
plan convert waves.b2nd planned.b2nd --dtype i2 --round --clip -o typed.json
work typed.json --all
commit typed.json
plan convert waves.h5 --into many4 --format b2z -o files.json
chunks sparse.b2nd
chunks etopo.h5:/ROSE
dump waves.b2nd[:2,:2]
dump records.b2nd
stats waves.b2nd
stats tree.h5:/time --bins 2 --range 10,20
stats scalar.b2nd
stats gaps.b2nd
stats changed.b2nd --bins 0
explain waves.b2nd
explain broken.h5 -L 4
convert waves.b2nd a.b2nd
convert etopo.h5:/ROSE b.b2nd --exclude-unsupported
convert waves.b2nd c.b2nd --dry-run
convert tree.h5 all --exclude-unsupported
convert tree.h5 more --exclude-unsupported --dry-run
3: convert waves.b2nd missing.b2nd --into directory --format hdf5 --keep-going
1: diff waves.b2nd changed.b2nd -n 2 --encoding
1: diff waves.b2nd changed.b2nd --values-only --atol 10 --equal-nan --exclude-attr units
cp tree.h5 t2.h5
attr set t2.h5:/run1 level 3
attr set t2.h5:/run1/temperature units K
rm t2.h5:/time
1: diff tree.h5 t2.h5
3: diff broken.h5 tree.h5
attr list rich.b2nd
attr list etopo.h5:/ROSE
attr get waves.b2nd units
attr rm t2.h5:/run1 level
append a.b2nd waves.b2nd
append a.b2nd waves.b2nd --allow-lossy
plot waves.b2nd -o p.png
recover waves.b2nd r.b2nd --dry-run
3: recover broken.h5 saved.h5
3: recover cut.b2nd saved.b2nd
recover --repair fields.h5
recover --repair fields.h5 fields2.h5
repack waves.b2nd w2.b2nd --codec zstd
plan rechunk waves.b2nd w5.b2nd --chunks 1,100 --shard-bytes 16KiB -o rows.plan
plan convert etopo.h5:/ROSE w6.h5:/x --exclude-unsupported --grow 0
plan copy grows.h5:/g w7.h5:/g
work rows.plan --shard 1/2
work rows.plan --all
commit rows.plan
repack t2.h5 t3.h5 --dry-run --level 9
3: repack waves.b2nd missing.b2nd --into directory --keep-going
verify waves.b2nd waves.h5 --digests write
repack etopo.h5 cloud.h5 --cloud
index etopo.h5 -o etopo.refs --kerchunk json
3: index lzf.h5 -o lzf.refs --kerchunk json --skip-unreadable
1: verify --cloud small-chunks.h5 cloud.h5
3: verify --cloud etopo.h5 broken.h5
1: verify broken.h5 cut.b2nd
1: scan broken.h5 cut.b2nd .
3: scan waves.b2nd notes.txt --keep-going
3: verify waves.b2nd missing.b2nd --keep-going
repack t2.h5 t4.h5 --level 9
1: diff t2.h5 t4.h5 --encoding
1: verify hurt.h5 hurt.bcolz
bench waves.b2nd --codec lz4 --level 1 --seconds 0
version --libs --check
crosscheck emit vectors --area metalayer
`
