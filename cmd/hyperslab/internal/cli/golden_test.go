package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// sessions are command lines by the name of their golden file, which contains their exact output.
// They run in this order in a directory that field created.
var sessions = map[string][]string{
	"ls": {
		"ls etopo.h5",
		"ls -l etopo.h5:/ROSE",
		"ls etopo.h5 /ROSE",
		"ls tree.h5",
		"ls -r tree.h5",
		"ls tree.h5:/run1",
		"ls waves.b2nd",
		"ls --json waves.b2nd",
		"ls --json tree.h5:/run1",
		"ls -r broken.h5:/run1",
	},
	"info": {
		"info etopo.h5:/ROSE",
		"info etopo.h5 ROSE",
		"info waves.b2nd",
		"info scalar.b2nd",
		"info --json waves.b2nd",
		"info --json etopo.h5:/ROSE",
		"info rich.b2nd",
		"info etopo.h5",
		"info tree.h5:/run1",
		"info tree.h5:/run1 --json",
		"info tree.h5:/run1 --untrusted",
		"info tree.h5:/run1[0]",
		"info waves.b2nd --storage",
		"info waves.b2nd --storage --json",
		"info tree.h5 --storage",
		"info notes.txt --storage",
		"info tree.h5:/run1 --storage",
		"info tree.h5 --storage --meta",
		"info waves.b2nd --meta",
		"info tree.h5:/time --meta",
		"info missing.h5 --meta",
	},
	"tree": {
		"tree etopo.h5 --attributes",
		"tree tree.h5",
		"tree tree.h5 -L 1",
		"tree tree.h5:/run1",
		"tree tree.h5 /run1/raw --json",
		"tree waves.b2nd",
		"tree broken.h5",
		"tree tree.h5 -L -1",
		"tree missing.h5",
	},
	"dump": {
		"dump etopo.h5:/ROSE[:3,::25]",
		"dump etopo.h5 /ETOPO120X[:40:2]",
		"dump waves.b2nd[0,:4]",
		"dump waves.b2nd[3,2]",
		"dump scalar.b2nd --json",
		"dump tree.h5:/names",
		"dump tree.h5:/names[::-1] --json",
		"dump tree.h5:/names --csv",
		"dump records.b2nd",
		"dump records.b2nd[1:] --csv --index",
		"dump records.b2nd[:1] --json",
		"dump records.b2nd --ndjson",
		"dump changed.b2nd[1,1:3] --json",
		"dump changed.b2nd[19,28:] --csv",
		"dump changed.b2nd[19,28:]",
		"dump waves.b2nd[None,:2,:2] --ndjson",
		"dump waves.b2nd[:2,None,:2] --json",
		"dump waves.b2nd[:2,:3] --csv --index",
		"dump waves.b2nd[:2,:0] --json",
		"dump waves.b2nd[:0]",
		"dump waves.h5 --ddl --header",
		"dump waves.b2nd --ddl",
		"dump tree.h5:/run1 --ddl",
		"dump tree.h5:/names --npy",
		"dump waves.b2nd --header",
		"dump waves.b2nd --index",
		"dump waves.b2nd --no-header",
		"dump etopo.h5:/ROSE[:2,:3] --csv --index",
		"dump tree.h5:/names --csv --no-header",
		"dump waves.b2nd[0,:2] waves.b2nd[1,:2] waves.b2nd[2,:2] --csv",
		"dump waves.b2nd --csv --json",
		"dump waves.b2nd[20]",
		"dump waves.b2nd[1,2,3]",
		"dump waves.b2nd[a]",
		"dump missing.b2nd[0]",
		"dump broken.h5:/run1/raw/counts",
	},
	"stats": {
		"stats etopo.h5:/ROSE",
		"stats etopo.h5:/ROSE[0] --bins 0",
		"stats tree.h5:/time --bins 4",
		"stats tree.h5:/time --bins 2 --range 10,20",
		"stats tree.h5:/time --bins 4 --json",
		"stats scalar.b2nd --json",
		"stats changed.b2nd --bins 2",
		"stats changed.b2nd --bins 2 --range -1,1 --json",
		"stats gaps.b2nd",
		"stats gaps.b2nd --raw --bins 3",
		"stats gaps.b2nd --json",
		"stats waves.b2nd[:0]",
		"stats tree.h5:/names",
		"stats waves.b2nd --range 1,0",
		"stats waves.b2nd --bins -1",
		"stats records.b2nd",
	},
	"index": {
		"index etopo.h5 -o etopo.json --kerchunk json --url https://host/etopo.h5",
		"index etopo.h5 -o etopo.json",
		"index etopo.h5",
		"index waves.b2nd -o waves.json --kerchunk json",
		"index tree.h5 -o tree.json --kerchunk json",
		"index notes.txt -o notes.index",
		"index etopo.h5 -o etopo.index --url etopo.h5",
	},
	"chunks": {
		"chunks etopo.h5:/ROSE",
		"chunks waves.b2nd",
		"chunks waves.b2nd -n 1",
		"chunks waves.b2nd --json",
		"chunks gaps.b2nd",
		"chunks tree.h5:/run1/raw/counts",
		"chunks tree.h5:/time",
		"chunks scalar.b2nd",
		"convert waves.b2nd waves.npy -q --exclude-unsupported",
		"chunks waves.npy",
		"chunks notes.txt",
		"chunks waves.b2nd -n -1",
	},
	"explain": {
		"explain waves.b2nd -L 2",
		"explain waves.b2nd --at 0x18",
		"explain waves.b2nd --at 30 --json",
		"explain tree.h5 -L 1",
		"explain waves.h5:/waves -L 3",
		"explain broken.h5 --wrong",
		"explain waves.b2nd --wrong",
		"explain cut.b2nd --wrong",
		"explain cut.h5:/ROSE -L 2",
		"explain notes.txt",
		"explain notes.txt --as frame --wrong",
		"explain empty.b2nd",
		"explain empty.b2nd --as chunk",
		"explain waves.b2nd:/x",
		"explain waves.h5:/nowhere",
		"explain waves.b2nd --at 99999",
		"explain waves.b2nd --at 12a",
		"explain waves.b2nd --as zip",
		"explain waves.b2nd -L -1",
		"explain missing.b2nd",
	},
	"plot": {
		"plot etopo.h5:/ROSE",
		"plot etopo.h5:/ROSE --color always --range=-4000,4000 --colors diverging",
		"plot etopo.h5:/ROSE[45,20:80]",
		"plot etopo.h5:/ROSE[::-1,::-1]",
		"plot etopo.h5:/ROSE --log",
		"plot etopo.h5:/ROSE[45,20:80] --clip 5,95",
		"plot etopo.h5:/ROSE --log --range=0,10",
		"plot etopo.h5:/ROSE --clip 50",
		"plot etopo.h5:/ROSE --clip 60,40",
		"plot etopo.h5:/ROSE --clip 1,99 --range 0,1",
		"plot etopo.h5:/ROSE --log --kind histogram",
		"plot gaps.b2nd",
		"plot gaps.b2nd --raw --kind histogram --bins 3",
		"plot gaps.b2nd[0]",
		"plot tree.h5:/time -o time.png",
		"plot tree.h5:/time -o time.png",
		"plot tree.h5:/time[3] -o time.svg --size 300x200 --title Counts",
		"plot tree.h5:/time -o time.gif",
		"plot tree.h5:/time -o nodir/time.png",
		"plot tree.h5:/time --size 10x10",
		"plot tree.h5:/time --kind pie",
		"plot tree.h5:/time --kind line",
		"plot tree.h5:/time --colors pink",
		"plot tree.h5:/time --range 3",
		"plot tree.h5:/time --bins 0",
		"plot tree.h5:/names",
		"plot waves.b2nd[None]",
		"plot waves.b2nd[:0]",
		"plot scalar.b2nd",
		"plot scalar.b2nd --kind histogram --bins 2",
		"plot missing.b2nd -o x.png",
	},
	"convert": {
		"convert etopo.h5:/ROSE rose.npy",
		"convert etopo.h5:/ROSE rose.b2nd --exclude-attr DIMENSION_LIST --dry-run",
		"convert etopo.h5:/ROSE rose.b2nd --exclude-attr DIMENSION_LIST",
		"convert etopo.h5:/ROSE rose.b2nd --exclude-unsupported",
		"convert etopo.h5:/ROSE rose.b2nd --exclude-unsupported --force --quiet --json",
		"convert rose.b2nd back.h5:/deep/ROSE --quiet",
		"ls -r back.h5",
		"convert waves.b2nd plain.b2nd --codec none --shuffle none -q --chunks 10x20 --blocks 5,10",
		"info plain.b2nd",
		"convert rich.b2nd rich.h5:/r",
		"convert rich.b2nd rich.h5:/r -f --exclude-attr large -q",
		"diff rich.b2nd rich.h5:/r",
		"convert waves.b2nd plan.h5:/w --dry-run --json",
		"convert waves.b2nd plan.h5:/w --dry-run --level 9",
		"convert waves.b2nd old.frame --format caterva -q",
		"convert waves.b2nd named.caterva",
		"convert waves.b2nd sparse.caterva --sparse -q",
		"info named.caterva",
		"ls named.caterva",
		"verify sparse.caterva --json",
		"info named.caterva --storage --json",
		"cp old.frame copy.caterva",
		"cp old.frame copy.b2nd",
		"convert tree.h5 many.caterva",
		"info old.frame",
		"convert old.frame new.b2nd --dtype <f4 -q",
		"convert old.frame new.b2nd --dtype <f4x -q",
		"convert waves.b2nd zstd.h5:/w --codec zstd --level 19 --shuffle bit --checksum -q",
		"info zstd.h5:/w",
		"convert zstd.h5:/w blosc.h5:/w --codec blosc2/lz4 -q",
		"ls blosc.h5",
		"diff blosc.h5:/w waves.b2nd --values-only -q",
		"convert waves.b2nd waves.bcolz -q --codec lz4 --level 9",
		"diff waves.b2nd waves.bcolz -q",
		"convert tree.h5 all --exclude-unsupported --dry-run",
		"convert tree.h5 all --exclude-unsupported --dry-run --json",
	},
	"diff": {
		"diff waves.b2nd waves.h5:/waves -q",
		"diff waves.b2nd changed.b2nd",
		"diff waves.b2nd changed.b2nd -n 3",
		"diff waves.b2nd changed.b2nd --values-only --atol 10",
		"diff waves.b2nd changed.b2nd --json -n 2",
		"diff waves.b2nd scalar.b2nd",
		"diff waves.b2nd changed.b2nd --quiet",
		"diff etopo.h5:/ROSE etopo.h5:/ROSE",
		"diff etopo.h5:/ROSE etopo.h5:/ROSE --exclude-unsupported -q",
		"diff waves.b2nd[:,0] waves.h5:/waves[:,0]",
		"diff waves.b2nd[1:3] changed.b2nd[1:3] --values-only",
		"diff waves.b2nd[1:3] changed.b2nd[1:4] --values-only",
		"diff waves.b2nd[20] changed.b2nd",
		"diff waves.b2nd[0] changed.b2nd[0] --encoding",
		"diff waves.b2nd[0] changed.b2nd --exclude /x",
	},
	"bench": {
		"bench waves.b2nd --codec zip",
		"bench waves.h5:/waves --format hdf5 --codec blosclz",
		"bench waves.b2nd --format zarr",
		"bench waves.b2nd --shuffle bytes",
		"bench waves.b2nd --for fun",
		"bench waves.b2nd --seconds -1",
		"bench waves.b2nd --storage 0",
		"bench waves.b2nd --chunks 3",
		"bench waves.b2nd --level 12 --seconds 0",
		"bench waves.b2nd --sample lots",
		"bench waves.b2nd --plot b.gif",
		"bench waves.b2nd --plot nodir/b.png",
		"bench waves.b2nd[:0]",
		"bench scalar.b2nd",
		"bench tree.h5:/names",
		"bench missing.b2nd",
		"bench",
		"plot waves.b2nd -o there.png",
		"bench waves.b2nd --plot there.png",
	},
	"crosscheck": {
		"crosscheck advise etopo.h5 --reader h5py",
		"crosscheck advise notes.txt",
		"crosscheck archive layers.zip --area metalayer",
		"crosscheck archive layers.zip --area metalayer",
		"crosscheck archive",
		"crosscheck emit layers --area metalayer",
		"crosscheck emit again --area metalayer --json",
		"crosscheck emit layers --area metalayer",
		"crosscheck emit",
		"crosscheck run layers",
		"crosscheck run layers --read cat",
		"crosscheck judge",
		"crosscheck emit nodir/layers --area metalayer",
		"crosscheck emit other --progress loud",
	},
	"errors": {
		"infos",
		"help infos",
		"info",
		"info a b c",
		"info --nope x",
		"info waves.b2nd --color blue",
		"info missing.b2nd",
		"info etopo.h5:/NOPE",
		"stats etopo.h5",
		"stats tree.h5:/run1",
		"info tree.h5:/names",
		"info waves.b2nd:/x",
		"info broken.h5:/run1/raw/counts",
		"info notes.txt",
		"info empty.b2nd",
		"info cut.b2nd",
		"info cut.h5:/ROSE",
		"ls missing.h5",
		"ls etopo.h5:ROSE",
		"dump etopo.h5/ROSE[0]",
		"verify etopo.h5:/ROSE",
		"recover etopo.h5:/ROSE x.h5",
		"ls -",
		"stats /dev/null",
		"ls waves.b2nd -0",
		"verify waves.b2nd -0",
		"ls notes.txt",
		"ls cut.h5",
		"convert waves.b2nd scalar.b2nd",
		"convert waves.b2nd out.xyz",
		"convert waves.b2nd nodir/out.b2nd",
		"convert waves.b2nd out.b2nd --codec zip",
		"convert waves.b2nd out.h5:/x --codec snappy",
		"convert waves.b2nd out.h5:/x --codec lzf --level 3",
		"convert waves.b2nd out.h5",
		"convert waves.b2nd out.h5:/ --dry-run",
		"convert waves.b2nd out.b2nd:/x",
		"convert waves.b2nd out.b2nd --format zarr",
		"convert waves.b2nd out.b2nd --codec none --level 3",
		"convert waves.b2nd out.b2nd --blocks 40,40",
		"convert waves.b2nd out.b2nd --level 10",
		"convert waves.b2nd out.b2nd --shuffle bytes",
		"convert waves.b2nd out.b2nd --chunks 1,2,3",
		"convert waves.b2nd out.b2nd --chunks 0",
		"convert waves.b2nd out.h5:/x --blocks 2,2",
		"convert waves.b2nd out.h5:/x --sparse",
		"convert waves.b2nd out.b2nd -M 12X",
		"convert waves.b2nd out.b2nd -j -1",
		"convert waves.b2nd out.b2nd --progress loud",
		"convert missing.b2nd out.b2nd",
		"diff waves.b2nd missing.b2nd",
		"diff waves.b2nd waves.b2nd --rtol -1",
		"diff waves.b2nd waves.b2nd -n -1",
		"convert waves.b2nd out.b2nd -M 100",
		"repack waves.b2nd out.b2nd --codec zstd --chunks 20,30 -M 10000",
		"append waves.b2nd changed.b2nd -M 100",
		"stats waves.b2nd -M 100",
		"diff waves.h5:/waves waves.b2nd -M 100",
		"ls broken.h5 --untrusted",
		"tree cut.h5 --untrusted",
		"chunks tree.h5:/run1 --untrusted",
		"attr get waves.b2nd nothing --untrusted",
		"ls waves.b2nd --sandbox",
		"convert broken.h5 dir --untrusted",
		"chunks tree.h5:/run1",
		"chunks missing.b2nd",
		"attr list missing.h5:/x",
		"plot waves.b2nd -o x.pdf",
		"rm waves.h5:/nope",
		"completion tcsh",
		"version libs",
		"convert scalar.b2nd plan.b2nd --dry-run --json",
		"cp waves.b2nd nodir/x.b2nd",
		"cp waves.h5:/waves nodir/x.h5:/w",
	},
}

func TestGolden(t *testing.T) { golden(t, sessions) }

// golden runs the sessions of each golden file in a new directory and compares their output.
func golden(t *testing.T, sessions map[string][]string) {
	for name, lines := range sessions {
		t.Run(name, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("testdata", name+".golden"))
			require.NoError(t, err)
			t.Chdir(field(t))
			if name == "recover" {
				unclosed(t)
			}
			var got strings.Builder
			for _, line := range lines {
				s := session(line)
				if name == "convert" {
					s = compressed.ReplaceAllString(s, "${1}N")
				}
				got.WriteString(s)
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run the test with -update and check the difference")
			require.Equal(t, string(want), got.String())
		})
	}
}

// session runs a command line and returns it with its standard output, standard error and exit
// code.
func session(line string) string {
	stdout, stderr, code := run(strings.Fields(line)...)
	var b strings.Builder
	fmt.Fprintf(&b, "$ hyperslab %s\n%s", line, scrub(stdout))
	for _, l := range strings.SplitAfter(scrub(stderr), "\n") {
		if l != "" {
			b.WriteString("2> " + l)
		}
	}
	fmt.Fprintf(&b, "exit %d\n\n", code)
	return b.String()
}

// run runs the command in this process.
func run(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = cli.Run(args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// scrubs replace output that depends on the run or on the machine.
var scrubs = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`[0-9.e+-]+ MB/s`), "RATE MB/s"},
	{regexp.MustCompile(` in [0-9.]+[mµ]?s\b`), " in TIME"},
	{regexp.MustCompile(`"(seconds|copy_seconds|estimated_seconds|mb_per_s)": [0-9.e+-]+`), `"$1": TIME`},
	{regexp.MustCompile(`(?m)-j [0-9]+$`), "-j N"},
	{regexp.MustCompile(`"workers": [0-9]+`), `"workers": N`},
	{regexp.MustCompile(`("(c-blosc2|hdf5)": )"[0-9.]+"`), `$1"VERSION"`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`"sandbox": ".*"`), `"sandbox": "LEVEL"`},
	{regexp.MustCompile(`\.tmp-[0-9]+-[0-9]+(-[0-9a-f]+)?`), ".tmp-N"},
}

// compressed matches sizes in the sessions of convert that depend on the version of a codec.
var compressed = regexp.MustCompile(`(B -> |about |"stored_bytes": |"estimated_bytes": |"ratio": )[0-9.]+( KiB  [0-9.]+x)?`)

func scrub(s string) string {
	for _, x := range scrubs {
		s = x.pattern.ReplaceAllString(s, x.replacement)
	}
	return s
}
