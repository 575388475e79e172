package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestHelp_Examples runs the examples of every help text in the order in which they are listed.
// They share a directory: an example may use files that an earlier one wrote.
func TestHelp_Examples(t *testing.T) {
	testenv.NoRace(t, "other tests run the same commands")
	storeFile, err := filepath.Abs("../../../../testdata/store.b2z")
	require.NoError(t, err)
	t.Chdir(field(t))
	store, err := os.ReadFile(storeFile)
	require.NoError(t, err)
	put(t, "store.b2z", store)
	must(t, "convert -q store.b2z store.b2d")
	broken, err := os.ReadFile("broken.h5")
	require.NoError(t, err)
	put(t, "corrupt.h5", broken)
	unclosed(t)
	require.NoError(t, os.Mkdir("runs", 0o755))
	put(t, "runs/store.b2z", store)
	for i, name := range []string{"1999.nc", "2000.nc"} {
		draft, err := hyperslab.CreateTree(t.Context(), name, nil)
		require.NoError(t, err)
		for _, path := range []string{"/time", "/t2m"} {
			spec := ndarray.Spec{Shape: []int64{4}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{2}, DType: ndarray.DTypeOf[int32]()}
			a, err := draft.Create(t.Context(), path, spec)
			require.NoError(t, err)
			first := int32(4 * i)
			require.NoError(t, ndarray.Write(t.Context(), a, []int32{first, first + 1, first + 2, first + 3}, ndarray.Whole([]int64{4})))
		}
		require.NoError(t, draft.AttachScale("/t2m", 0, "/time"))
		require.NoError(t, draft.Commit(t.Context()))
	}
	codes := map[string]int{ // 0 for all others
		"hyperslab explain corrupt.h5 --wrong":                           1,
		"hyperslab diff waves.b2nd changed.b2nd --rtol 1e-6 --atol 1e-3": 1,
		"hyperslab diff waves.b2nd changed.b2nd -n 5":                    1,
		"hyperslab diff waves.b2nd waves.h5:/waves --ulp 2 --encoding":   1,
		"hyperslab recover broken.h5 saved.h5":                           3,
		"hyperslab scan corrupt.h5":                                      1,
		"hyperslab scan etopo.h5 corrupt.h5 --sarif > scan.sarif":        1,
	}
	seen := 0
	commands := []string{
		"convert", "virtual", "info", "index", "ls", "tree", "chunks", "dump", "stats", "explain", "plot", "diff", "version", "crosscheck advise", "crosscheck archive", "crosscheck emit",
		"plan", "work", "commit", "cp", "append", "attr list", "attr get", "attr set", "attr rm", "repack", "rm", "verify", "scan", "bench", "recover",
	}
	require.ElementsMatch(t, leaves(t), append(slices.Clone(commands), "crosscheck run"), "the programs that crosscheck run judges are not there")
	for _, command := range commands {
		words := strings.Fields(command)
		help, _, code := run(append(words, "--help")...)
		require.Zero(t, code)
		_, text, ok := strings.Cut(help, "Examples:\n")
		require.True(t, ok, "%s has no examples", command)
		text, _, _ = strings.Cut(text, "\n\n")
		for _, line := range strings.Split(text, "\n") {
			line = strings.TrimSpace(line)
			args := shellWords(line)
			require.Equal(t, "hyperslab", args[0], line)
			require.Equal(t, words, args[1:1+len(words)], line)
			if command == "bench" {
				args = append(args, "--seconds", "0") // one pass over the data, because no speed is tested here
			}
			if command == "crosscheck emit" && !testenv.All() { // the tests of package crosscheck emit all areas
				args = append(args, "--area", "metalayer")
			}
			t.Run(line, func(t *testing.T) {
				stdout, stderr, code := run(args[1:]...)
				require.Equal(t, codes[line], code, "%s%s", stdout, stderr)
			})
			seen++
		}
	}
	require.GreaterOrEqual(t, seen, 50)
}

// shellWords splits a line into words as a shell does, up to a redirection of the output.
func shellWords(line string) (words []string) {
	line, _, _ = strings.Cut(line, " > ")
	word, quoted := "", false
	for _, c := range line + " " {
		switch {
		case c == '\'':
			quoted = !quoted
		case c != ' ' || quoted:
			word += string(c)
		case word != "":
			words, word = append(words, word), ""
		}
	}
	return words
}

// TestHelp_writeError checks that help fails if it cannot be written.
func TestHelp_writeError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, full.Close()) }()
	for _, line := range []string{"", "help", "help ls", "ls --help", "attr", "completion --help", "--version"} {
		t.Run(line, func(t *testing.T) {
			var stderr bytes.Buffer
			require.Equal(t, 2, cli.Run(strings.Fields(line), strings.NewReader(""), full, &stderr))
			require.Contains(t, stderr.String(), "no space left on device")
			require.Equal(t, 1, strings.Count(stderr.String(), "no space"))
		})
	}
}

// TestRun_versionFlag checks that the flag writes the version of the command version.
func TestRun_versionFlag(t *testing.T) {
	var doc struct{ Version string }
	require.NoError(t, json.Unmarshal([]byte(done(t, "version", "--json")), &doc))
	require.NotEmpty(t, doc.Version)
	require.Equal(t, "hyperslab version "+doc.Version+"\n", done(t, "--version"))
}
