package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestUntrusted_sameOutput checks that --untrusted does not change the output of a command, with
// and without a sandbox.
func TestUntrusted_sameOutput(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("rm", "tree.h5:/elsewhere")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", "tree.h5:/run1", "dir", "--exclude-unsupported", "-q")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", "waves.b2nd", "sparse.b2nd", "--sparse", "-q")
	require.Zero(t, code, stderr)
	_, stderr, code = run("convert", "waves.b2nd", "w.bcolz", "-q")
	require.Zero(t, code, stderr)
	shifted(t, "shifted.h5")
	far(t, "far.h5")
	for _, line := range []string{
		"ls etopo.h5", "ls -l etopo.h5:/ROSE", "ls -r dir --json", "ls w.bcolz -l", "ls -r tree.h5:/run1 --json", "ls waves.b2nd",
		"tree dir", "tree tree.h5:/run1 -a", "tree tree.h5:/run1 -L 1 --json", "tree scalar.b2nd",
		"chunks etopo.h5:/ROSE", "chunks waves.b2nd --json", "chunks gaps.b2nd", "chunks sparse.b2nd --json", "chunks w.bcolz", "chunks dir:/temperature --json",
		"chunks tree.h5:/run1/temperature --json", "chunks tree.h5:/time", "chunks far.h5:/x", "dump far.h5:/x", "chunks shifted.h5:/x --json", "chunks tree.h5:/run1/temperature -n 2",
		"attr list etopo.h5:/ROSE", "attr list rich.b2nd --json", "attr list tree.h5:/run1", "attr get waves.b2nd units", "attr get waves.b2nd nothing",
		"diff waves.b2nd waves.h5:/waves -q", "diff waves.b2nd changed.b2nd -n 3", "diff waves.b2nd scalar.b2nd",
		"diff dir tree.h5:/run1 --encoding", "diff tree.h5:/run1 tree.h5:/run2", "diff tree.h5:/run1 waves.b2nd",
		"info rich.b2nd --meta", "info etopo.h5:/ROSE --meta", "info w.bcolz --meta", "info dir:/temperature --meta", "info dir --meta", "info tree.h5:/run1 --meta",
		"info sparse.b2nd --meta", "info tree.h5:/nope --meta",
		"info rich.b2nd", "stats gaps.b2nd", "dump records.b2nd", "info dir:/temperature",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			stdout, stderr, code := run(args...)
			for _, more := range [][]string{{"--untrusted"}, {"--untrusted", "--sandbox=false"}} {
				got, said, status := run(append(args, more...)...)
				require.Equal(t, code, status, said)
				if strings.HasPrefix(got, "{") {
					isolation := fmt.Sprintf("  \"isolation\": %q,\n", map[bool]string{true: "full", false: "none"}[len(more) == 1])
					require.Contains(t, got, isolation)
					got = strings.Replace(got, isolation, "", 1)
				}
				require.Equal(t, scrub(stdout), scrub(got))
				if code < 2 {
					require.Equal(t, scrub(stderr), scrub(said))
				}
			}
		})
	}
}

// far creates a file with five chunks, one of which has the offset 2^63 in the index.
func far(t *testing.T, name string) {
	t.Helper()
	f, err := h5.Create(name, &h5.CreateOptions{Low: h5.Earliest, High: h5.LatestFormat})
	require.NoError(t, err)
	level := 1
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{2}, Deflate: &level})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 10), h5.SimpleSpace(10).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var keys []int64
	for _, x := range h5file.Describe(bytes.NewReader(b), int64(len(b))).Walk() {
		if x.Name == "chunk offset" {
			keys = append(keys, x.Offset)
		}
	}
	require.Len(t, keys, 12, "of five chunks and the end, along the axis and in an element")
	binary.LittleEndian.PutUint64(b[keys[8]:], 1<<63)
	binary.LittleEndian.PutUint64(b[keys[10]:], 1<<63+2)
	require.NoError(t, os.WriteFile(name, b, 0o600))
	stdout, stderr, code := run("chunks", name+":/x")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "[3] ")
	require.Equal(t, 5, strings.Count(stdout, "\n"), stdout) // the header line and four chunks
}

// shifted creates a file with a user block. Addresses in the file are relative to its end.
func shifted(t *testing.T, name string) {
	t.Helper()
	o, creation := h5.CreateOptions{}, h5.DefaultFileCreation()
	creation.UserBlock = 1024
	o.Creation = &creation
	f, err := h5.Create(name, &o)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(8, 10), &h5.DatasetOptions{ChunkShape: []int64{4, 5}})
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, make([]int32, 80), h5.SimpleSpace(8, 10).All()))
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
}

// TestUntrustedRefuses checks that commands with --untrusted never follow links to other files:
// they list such links in the sandbox, and fail without a sandbox. A corrupt file must result in an
// error with an offset.
func TestUntrustedRefuses(t *testing.T) {
	t.Chdir(field(t))
	stdout, stderr, code := run("ls", "tree.h5", "--untrusted")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "/elsewhere -> waves.h5:/waves")
	for _, line := range []string{"ls tree.h5", "tree tree.h5", "diff tree.h5 tree.h5"} {
		_, stderr, code := run(append(strings.Fields(line), "--untrusted", "--sandbox=false")...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "external link", line)
	}
	for _, line := range []string{
		"ls broken.h5", "tree broken.h5", "diff broken.h5 tree.h5", "attr list broken.h5:/run1", "attr get broken.h5:/time x", "chunks broken.h5:/run1/temperature",
		"ls cut.b2nd", "chunks cut.b2nd", "ls cut.h5",
	} {
		_, stderr, code := run(append(strings.Fields(line), "--untrusted")...)
		require.Equal(t, 2, code, line)
		require.Regexp(t, `at byte|corrupt`, stderr, line)
		require.NotContains(t, stderr, "/proc/", line)
	}
	for _, command := range []string{"ls waves.b2nd", "tree waves.b2nd", "chunks waves.b2nd", "diff waves.b2nd waves.b2nd", "attr list waves.b2nd", "attr get waves.b2nd units"} {
		_, stderr, code := run(append(strings.Fields(command), "--sandbox=false")...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "--sandbox requires --untrusted")
	}
}

// TestUntrustedTrees checks that a conversion of a tree with --untrusted has the same result as
// without.
func TestUntrustedTrees(t *testing.T) {
	t.Chdir(field(t))
	_, stderr, code := run("convert", "tree.h5", "dir", "--exclude-unsupported", "-q")
	require.Zero(t, code, stderr)
	_, stderr, code = run("rm", "tree.h5:/elsewhere")
	require.Zero(t, code, stderr)
	for i, pair := range [][2]string{
		{"tree.h5", "trusted.h5"}, {"tree.h5:/run1", "trusted"}, {"dir", "trusted-dir.h5"}, {"waves.h5", "trusted.bcolz"},
	} {
		line := []string{"convert", pair[0], pair[1], "--exclude-unsupported", "-q"}
		_, stderr, code := run(line...)
		require.Zero(t, code, stderr)
		for j, more := range [][]string{{"--untrusted"}, {"--untrusted", "--sandbox=false"}} {
			line[2] = fmt.Sprintf("%d-%d", i, j) + filepath.Ext(pair[1])
			_, stderr, code := run(append(slices.Clone(line), more...)...)
			require.Zero(t, code, stderr)
			stdout, stderr, code := run("diff", pair[1], line[2], "--encoding")
			require.Zero(t, code, stdout+stderr)
		}
	}
	_, stderr, code = run("convert", "broken.h5", "broken", "--untrusted")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "at byte")
	require.NoFileExists(t, "broken")
}

// TestUntrusted_benchAndRepack checks bench and repack with --untrusted. repack must reject HDF5
// files, because objects are not copied out of a sandbox.
func TestUntrusted_benchAndRepack(t *testing.T) {
	t.Chdir(field(t))
	cut, err := os.ReadFile("waves.b2nd")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("cut.b2nd", cut[:len(cut)-20], 0o600))
	_, stderr, code := run("repack", "waves.b2nd", "trusted.b2nd", "--codec", "lz4", "-q")
	require.Zero(t, code, stderr)
	for _, more := range [][]string{{"--untrusted"}, {"--untrusted", "--sandbox=false"}} {
		with := func(line string) (stdout, stderr string, code int) {
			return run(append(strings.Fields(line), more...)...)
		}
		_, stderr, code = with("repack waves.b2nd checked.b2nd --codec lz4 -q -f")
		require.Zero(t, code, stderr)
		want, err := os.ReadFile("trusted.b2nd")
		require.NoError(t, err)
		got, err := os.ReadFile("checked.b2nd")
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got))
		stdout, stderr, code := with("bench waves.h5:/waves --codec zstd --level 5 --shuffle byte --seconds 0 --json")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, `"codec": "zstd"`)
		for _, line := range []string{"repack cut.b2nd none.b2nd", "repack cut.b2nd none.b2nd --codec lz4", "bench cut.b2nd", "bench broken.h5:/run1/temperature"} {
			_, stderr, code = with(line)
			require.Equal(t, 2, code, "%s: %s", line, stderr)
			require.Contains(t, stderr, "at byte", line)
		}
		_, stderr, code = with("repack tree.h5 none.h5")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "use hyperslab convert --untrusted")
		require.NoFileExists(t, "none.h5")
		require.NoFileExists(t, "none.b2nd")
	}
}

// TestUntrusted_storage checks that info --storage counts all structures of a file that has more of
// them than explain lists.
func TestUntrusted_storage(t *testing.T) {
	t.Chdir(t.TempDir())
	o := h5.CreateOptions{}
	o.Low = h5.V114
	f, err := h5.Create("many.h5", &o)
	require.NoError(t, err)
	groups := 3_000
	if testenv.All() {
		groups = 70_000
	}
	for i := range groups {
		g, err := f.Root().CreateGroup(strconv.Itoa(i))
		require.NoError(t, err)
		require.NoError(t, g.Close())
	}
	require.NoError(t, f.Close())
	stdout, stderr, code := run("info", "many.h5", "--storage", "--json")
	require.Zero(t, code, stderr)
	var doc struct {
		Bytes int64
		Free  int64 `json:"free_bytes"`
		Kinds []struct {
			Kind          string
			Pieces, Bytes int64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	info, err := os.Stat("many.h5")
	require.NoError(t, err)
	require.Equal(t, info.Size(), doc.Bytes)
	sum := doc.Free
	for _, k := range doc.Kinds {
		sum += k.Bytes
		if k.Kind == "ohdr" {
			require.Greater(t, k.Pieces, int64(groups))
		}
	}
	require.Equal(t, doc.Bytes, sum)
}

// TestUntrusted_externalElements checks that convert --untrusted refuses arrays with elements in
// other files, or omits them with --exclude-unsupported. It must not write their fill values
// instead.
func TestUntrusted_externalElements(t *testing.T) {
	t.Chdir(field(t))
	require.NoError(t, os.WriteFile("raw", make([]byte, 20*30*4), 0o644))
	_, stderr, code := run("convert", "waves.h5", "a.h5", "-q")
	require.Zero(t, code, stderr)
	f, err := h5.Open("a.h5", h5.ReadWrite)
	require.NoError(t, err)
	space, f4 := h5.SimpleSpace(20, 30), h5.IEEEFloat(4, h5.LittleEndian)
	for name, o := range map[string]*h5.DatasetOptions{
		"virtual":  {Mappings: []h5.Mapping{{Region: space.All(), File: "waves.h5", Dataset: "waves", Source: space, SourceRegion: space.All()}}},
		"external": {External: []h5.ExternalFile{{Name: "raw", Size: 20 * 30 * 4}}},
		"own":      {Mappings: []h5.Mapping{{Region: space.All(), File: ".", Dataset: "waves", Source: space, SourceRegion: space.All()}}},
	} {
		d, err := f.Root().CreateDataset(name, f4, space, o)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	_, stderr, code = run("convert", "a.h5", "dir", "--untrusted")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `/virtual: array: `)
	require.Contains(t, stderr, `elements in other files, for example "waves.h5"`)
	require.Contains(t, stderr, `/external: array: `)
	require.NotContains(t, stderr, "/own: array")
	require.NoDirExists(t, "dir")
	_, stderr, code = run("convert", "a.h5", "dir", "--untrusted", "--exclude-unsupported")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "not kept: /virtual: array")
	require.FileExists(t, "dir/own.b2nd")
	require.NoFileExists(t, "dir/virtual.b2nd")
	require.NoFileExists(t, "dir/external.b2nd")
	for _, name := range []string{"waves", "own"} {
		stdout, stderr, code := run("diff", "dir/"+name+".b2nd", "waves.h5:/waves", "--values-only")
		require.Zero(t, code, stdout+stderr)
	}
	_, stderr, code = run("convert", "a.h5", "dir2", "--untrusted", "--sandbox=false", "--exclude-unsupported")
	require.Equal(t, 2, code, "without the sandbox an external link is refused")
	require.NoDirExists(t, "dir2")
	require.NotEmpty(t, stderr)
}
