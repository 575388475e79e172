package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// mistakes are command lines with a typical mistake each. The golden file contains the messages.
// They run in a directory that field and mistakesField create.
var mistakes = []struct {
	topic string
	lines []string
}{
	{"misspelt commands and flags", []string{
		"lss tree.h5",
		"covert waves.b2nd w.h5:/w",
		"verfy waves.b2nd",
		"tree.h5",
		"attr lst waves.b2nd",
		"ls tree.h5 --josn",
		"convert waves.b2nd w.h5:/w --exclude-unsuported",
		"repack waves.b2nd w.b2nd --codecs zstd",
		"dump waves.b2nd --csvs",
		"ls tree.h5 -R",
		"convert waves.b2nd w.h5:/w --force=yess",
		"bench waves.b2nd --level high",
		"ls -recursive tree.h5",
		"convert waves.b2nd w.h5:/w -o w2.h5",
	}},
	{"wrong types, formats and words", []string{
		"convert raw.bin w.b2nd --shape -1 --dtype flaot32",
		"convert raw.bin w.b2nd --shape -1 --dtype flot",
		"convert raw.bin w.b2nd --shape -1 --dtype float",
		"convert raw.bin w.b2nd --shape 4 --dtype <f3",
		"convert raw.bin w.b2nd --shape 4",
		"convert raw.bin w.b2nd --dtype f4",
		"convert raw.bin w.b2nd --shape 5 --dtype f4",
		"attr set waves.b2nd units 3 --dtype int33",
		"attr set waves.b2nd units [1,2 --dtype i4",
		"attr set waves.b2nd units 300 --dtype u1",
		"convert waves.b2nd w.zarr",
		"convert waves.b2nd w.h5:/w --format hdf",
		"convert waves.b2nd w.h5:/w --format netcdf",
		"convert waves.b2nd w",
		"convert waves.b2nd w.b2nd --codec gzip",
		"convert waves.b2nd w.h5:/w --codec blosc:zstd",
		"convert waves.b2nd w.b2nd --codec zstd:9",
		"convert waves.b2nd w.b2nd --codec zstd --level 99",
		"convert waves.b2nd w.b2nd --shuffle bitshuffle",
		"convert waves.b2nd w.b2nd --shuffle true",
	}},
	{"addresses and selections", []string{
		"info etopo.h5:ROSE",
		"info etopo.h5/ROSE",
		"info etopo.h5::/ROSE",
		"dump etopo.h5",
		"dump tree.h5:/run1",
		"dump 'waves.b2nd[1:2'",
		"dump 'waves.b2nd1:2]'",
		"dump 'waves.b2nd[1:2)'",
		"dump 'waves.b2nd[0'",
		"dump 'waves.h5:/waves[0'",
		"dump 'waves.b2nd[0, 0, 0]'",
		"dump 'waves.b2nd[0:5:0]'",
		"dump 'waves.b2nd[99]'",
		"dump 'waves.b2nd[0:99, 30]'",
		"dump 'waves.b2nd[a:b]'",
		"dump 'waves.b2nd[1.5]'",
		"dump 'waves.b2nd(0)'",
		"dump 'waves.b2nd{0}'",
		"dump 'waves.b2nd[..., ...]'",
		"dump 'waves.b2nd[1-3]'",
		"dump 'waves.b2nd[waves > 0]'",
		"dump brackets.h5:/x[0]",
		"dump 'brackets.h5:/x[0'",
		"dump 'brackets.h5:/x[1]'",
		"dump 'records.b2nd[0].nam'",
		"dump records.b2nd.name",
		"dump 'records.b2nd[name]'",
		"plot 'waves.b2nd[0, 0, 0]' -o p.png",
		"attr get waves.b2nd unit",
		"attr get waves.b2nd",
		"attr set waves.b2nd units",
	}},
	{"habits of h5dump, h5ls, h5repack and h5diff", []string{
		"dump -d /waves waves.h5",
		"dump -d /waves -s 0,0 -c 1,1 waves.h5",
		"dump -H waves.h5",
		"dump -A waves.h5",
		"dump -p waves.h5",
		"ls -v waves.h5",
		"ls -d waves.h5/waves",
		"ls waves.h5/waves",
		"tree -r tree.h5",
		"repack -f GZIP=5 waves.h5 w.h5",
		"repack -l CHUNK=5x5 waves.h5 w.h5",
		"repack -i waves.h5 -o w.h5",
		"repack waves.h5 w.h5 --codec GZIP=5",
		"diff waves.h5 waves.b2nd /waves",
		"diff -d 0.1 waves.b2nd changed.b2nd",
		"diff -v waves.b2nd changed.b2nd",
		"diff -p 0.1 waves.b2nd changed.b2nd",
		"cp -i waves.h5 -o w.h5 -s /waves -d /waves",
		"stat waves.h5",
		"h5dump waves.h5",
		"dump -h etopo.h5:/ROSE --ncdump",
	}},
	{"habits of python-blosc2, zarr and nccopy", []string{
		"convert waves.b2nd w.b2nd --cparams clevel=5",
		"convert waves.b2nd w.b2nd --clevel 5",
		"convert waves.b2nd w.b2nd --compressor zstd",
		"convert waves.b2nd w.b2nd --chunk 5,5",
		"convert waves.b2nd w.b2nd --chunks (5,5)",
		"convert waves.b2nd w.b2nd --chunks 5",
		"convert waves.b2nd w.b2nd --chunks 5,5,5",
		"convert waves.b2nd w.b2nd --chunks 0,5",
		"convert waves.b2nd w.b2nd --chunks 5;5",
		"convert waves.b2nd w.b2nd --chunks auto",
		"convert waves.b2nd w.b2nd --chunks 5,5 --blocks 6,6",
		"convert waves.b2nd w.h5:/w --blocks 5,5",
		"convert waves.b2nd w.b2nd --grow",
		"convert waves.b2nd w.h5:/w --grow 7",
		"info waves.b2nd.b2nd",
		"ls group.zarr",
		"info waves.npz",
	}},
	{"files, targets and units", []string{
		"info waves.b2dn",
		"info nodir/waves.b2nd",
		"dump empty",
		"info notes.txt",
		"convert waves.b2nd changed.b2nd",
		"convert waves.b2nd waves.h5:/waves",
		"convert waves.b2nd waves.h5",
		"convert waves.b2nd nodir/w.b2nd",
		"convert waves.b2nd changed.b2nd:/w",
		"convert tree.h5 w.b2nd",
		"convert waves.b2nd w.npy",
		"convert waves.b2nd w.b2nd extra",
		"convert waves.b2nd",
		"cp waves.h5:/waves w.b2nd",
		"cp f.h5:/x rose.b2nd",
		"cp tree.h5:/run1 w.h5",
		"cp waves.b2nd waves.h5",
		"rm waves.b2nd",
		"rm tree.h5",
		"rm tree.h5:/run1",
		"append waves.h5:/waves changed.b2nd",
		"append waves.b2nd scalar.b2nd",
		"info example.org/data.h5",
		"info ftp://example.org/data.h5",
		"info s3://",
		"info s3:/bucket/key.b2nd",
		"info http:/example.org/x.h5",
		"convert waves.b2nd w.b2nd --memory 100",
		"convert waves.b2nd w.b2nd --memory 4 GiB",
		"convert waves.b2nd w.b2nd --memory lots",
		"convert waves.b2nd w.b2nd --wait 30",
		"convert waves.b2nd w.b2nd -j -1",
		"convert waves.b2nd w.b2nd -j all",
		"plot waves.b2nd -o p.jpg",
		"plot waves.b2nd --size 900",
		"plot waves.b2nd --range 1",
		"diff waves.b2nd",
		"diff waves.b2nd tree.h5",
		"diff waves.b2nd changed.b2nd --rtol 1%",
		"verify tree.h5:/run1",
		"stats waves.b2nd --bins ten",
	}},
}

// mistakesField adds files to those of field: an HDF5 file whose datasets have brackets in their
// names, an empty directory, a directory of Zarr, raw bytes and a zip archive.
func mistakesField(t *testing.T) {
	t.Helper()
	values := []int32{10, 11, 12}
	create(t, "plain.b2nd", ndarray.Spec{Shape: []int64{3}}, values)
	done(t, "convert", "plain.b2nd", "brackets.h5:/x[0]", "-q")
	done(t, "convert", "plain.b2nd", "brackets.h5:/x[1", "-q")
	require.NoError(t, os.Mkdir("empty", 0o777))
	require.NoError(t, os.MkdirAll("group.zarr", 0o777))
	put(t, filepath.Join("group.zarr", ".zgroup"), []byte(`{"zarr_format": 2}`))
	put(t, "raw.bin", make([]byte, 16))
	put(t, "waves.npz", []byte("PK\x03\x04\x14\x00\x00\x00"))
}

// TestMistakes compares the messages for mistakes with the golden file, and checks that the
// suggestions in them work.
func TestMistakes(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("testdata", "mistakes.golden"))
	require.NoError(t, err)
	work := field(t)
	t.Chdir(work)
	mistakesField(t)
	fresh := filepath.Join(t.TempDir(), "fresh")
	require.NoError(t, os.CopyFS(fresh, os.DirFS(work)))
	var got strings.Builder
	count, suggestions := 0, 0
	for _, x := range mistakes {
		for _, line := range x.lines {
			_, stderr, code := run(hintWords(line)...)
			require.Contains(t, []int{2, 4}, code, "%s: %s", line, stderr)
			fmt.Fprintf(&got, "$ hyperslab %s\n2> %s\nexit %d\n\n", line, strings.ReplaceAll(strings.TrimSpace(scrub(stderr)), "\n", "\n2> "), code)
			count++
			suggestions += trySuggestions(t, fresh, line, stderr)
		}
	}
	require.GreaterOrEqual(t, count, 80)
	require.GreaterOrEqual(t, suggestions, 30)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update and check the difference")
	require.Equal(t, string(want), got.String())
}

// The forms of suggestions in messages: words that replace one of the command line, and command
// lines with names that exist.
var (
	suggestedWords = regexp.MustCompile(`did you mean (.*)\?`)
	suggestedLine  = regexp.MustCompile(`(?m)(?:^  |; )hyperslab ((?:'[^']*'|[^' A-Z])+?) (?:shows|lists|writes|reports)\b`)
)

// trySuggestions runs the suggestions of a message in copies of a directory, and returns their
// number.
func trySuggestions(t *testing.T, fresh, line, stderr string) (count int) {
	t.Helper()
	works := func(args []string) bool {
		dir := filepath.Join(t.TempDir(), "copy")
		require.NoError(t, os.CopyFS(dir, os.DirFS(fresh)))
		back, err := os.Getwd()
		require.NoError(t, err)
		t.Chdir(dir)
		_, said, code := run(args...)
		t.Chdir(back)
		return code < 2 || code == 3 || code == 4 && !strings.Contains(said, "flag")
	}
	args := hintWords(line)
	if m := suggestedWords.FindStringSubmatch(stderr); m != nil {
		for word := range strings.SplitSeq(m[1], " or ") {
			words := hintWords(word)
			ok := strings.Contains(word, "://") // an object at a URL
			for i := 0; i < len(args) && !ok; i++ {
				ok = works(slices.Concat(args[:i], words, args[i+1:]))
			}
			require.True(t, ok, "%s: %s does not work:\n%s", line, word, stderr)
			count++
		}
	}
	for _, m := range suggestedLine.FindAllStringSubmatch(stderr, -1) {
		require.True(t, works(hintWords(m[1])), "%s: %q does not work:\n%s", line, m[1], stderr)
		count++
	}
	return count
}
