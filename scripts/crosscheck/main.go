// Command peers judges other implementations with the vectors of crosscheck, and writes the table
// of docs/crosscheck.md. Each peer is an adapter, whose protocol docs/crosscheck-peers.md
// documents. The script run installs the adapters and runs this program.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/crosscheck"
)

// peer is one implementation.
type peer struct {
	name, language, about string
	files                 string // file that its installation made; "": always installed
	command               string // of its adapter
	writes                bool   // its adapter also writes
	module                string // Go module that no adapter uses, because it could not be downloaded
}

// peers lists the implementations. Directories in files and commands are relative to the directory
// of the adapters, $installed is that of the installed peers.
var peers = []peer{
	{"format", "Go", "the packages internal/format/* of this module, which read headers and indexes in plain Go, and internal/blosc/stores. They accept or refuse a file, and the C library decodes the accepted files", "", "$self -serve format", false, ""},
	{"scigolib", "Go", "github.com/scigolib/hdf5, in plain Go: Dataset.Read. It returns numbers as float64, so only numbers are tested, and compared as float64", "", "$self -serve scigolib", false, ""},
	{"gonum", "Go", "gonum.org/v1/hdf5, cgo, linked with the libhdf5 of this module: Dataset.Read into bytes, for elements of fixed size", "", "$self -serve gonum", false, ""},
	{"klauspost", "Go", "github.com/klauspost/compress/zstd on the Zstandard streams of Blosc chunks; the C library reverses the filters", "", "$self -serve klauspost", false, ""},
	{"datadog", "Go", "github.com/DataDog/zstd, tested in the same way", "", "$self -serve datadog", false, ""},
	{"go-native-netcdf", "Go", "github.com/batchatco/go-native-netcdf, in plain Go: has no adapter yet", "", "", false, "github.com/batchatco/go-native-netcdf"},
	{"go-hdf5", "Go", "github.com/robert-malhotra/go-hdf5, in plain Go: has no adapter yet", "", "", false, "github.com/robert-malhotra/go-hdf5"},
	{"go-hdf5-cwbudde", "Go", "github.com/cwbudde/go-hdf5, a fork of scigolib: has no adapter yet", "", "", false, "github.com/cwbudde/go-hdf5"},
	{"go-hdf5-huangzhengshun", "Go", "github.com/huangzhengshun/go-hdf5, a fork of go-hdf5: has no adapter yet", "", "", false, "github.com/huangzhengshun/go-hdf5"},
	{"go-zarr", "Go", "the Blosc codec of github.com/mentatxx/go-zarr: has no adapter yet", "", "", false, "github.com/mentatxx/go-zarr"},
	{"h5py", "Python", "h5py with hdf5plugin: datasets and attributes with elements that NumPy supports", "$python", "$python python/adapter.py h5py", true, ""},
	{"tables", "Python", "PyTables: datasets with elements that NumPy supports", "$python", "$python python/adapter.py tables", true, ""},
	{"pyfive", "Python", "pyfive, in plain Python: datasets with elements that NumPy supports", "$python", "$python python/adapter.py pyfive", false, ""},
	{"numcodecs", "Python", "the Blosc codec of numcodecs, which zarr uses: Blosc1 chunks", "$python", "$python python/adapter.py numcodecs", true, ""},
	{"blosc2", "Python", "python-blosc2: chunks, frames, b2nd arrays, containers", "$python", "$python python/adapter.py blosc2", true, ""},
	{"bcolz", "Python", "bcolz-zipline: bcolz trees", "$python", "$python python/adapter.py bcolz", true, ""},
	{"hdf5-reader", "Rust", "the crate hdf5-reader, in plain Rust: stored elements of datasets", "$installed/rust/release/adapter", "$installed/rust/release/adapter hdf5-reader", false, ""},
	{"hdf5-pure", "Rust", "the crate hdf5-pure, in plain Rust: stored elements of datasets", "$installed/rust/release/adapter", "$installed/rust/release/adapter hdf5-pure", true, ""},
	{"oxih5", "Rust", "the crate oxih5, in plain Rust: stored elements of datasets", "$installed/rust/release/adapter", "$installed/rust/release/adapter oxih5", false, ""},
	{"blusc", "Rust", "the crate blusc, a port of C-Blosc2 to plain Rust: chunks", "$installed/rust/release/adapter", "$installed/rust/release/adapter blusc", false, ""},
	{"blosc2-pure-rs", "Rust", "the crate blosc2-pure-rs, a port of C-Blosc2 to plain Rust: chunks, frames, arrays", "$installed/rust/release/adapter", "$installed/rust/release/adapter blosc2-pure-rs", false, ""},
	{"zarrs", "Rust", "the Blosc codec of the crate zarrs: Blosc1 chunks", "$installed/rust/release/adapter", "$installed/rust/release/adapter zarrs", false, ""},
	{"jsfive", "JavaScript", "jsfive, in plain JavaScript: datasets and attributes", "$installed/javascript/node_modules/jsfive/package.json", "node $installed/javascript/adapter.mjs jsfive", false, ""},
	{"h5wasm", "JavaScript", "h5wasm, libhdf5 as WebAssembly: datasets and attributes", "$installed/javascript/node_modules/h5wasm/package.json", "node $installed/javascript/adapter.mjs h5wasm", true, ""},
	{"jhdf", "Java", "jHDF, in plain Java: datasets and attributes", "$installed/java/Adapter.class", "$java jhdf", true, ""},
	{"netcdf-java", "Java", "netCDF-Java (cdm), in plain Java: variables. The newest version in Maven Central is of 2015", "$installed/java/Adapter.class", "$java netcdf-java", false, ""},
	{"netcdf-c", "C", "netcdf-c with its libhdf5, of Debian: variables of numbers and characters", "$installed/c/adapter", "$installed/c/adapter", false, ""},
}

func main() {
	only := flag.String("peer", "", "only this peer")
	caseID := flag.String("case", "", "only this case, explained; needs -peer")
	serve := flag.String("serve", "", "be the adapter of this Go peer")
	report := flag.String("report", "", "directory for reports to the authors of the peers")
	python := flag.String("python", "", "interpreter with the Python peers")
	installed := flag.String("installed", ".installed", "directory of the installed peers")
	dir := flag.String("vectors", "", "directory of vectors; \"\": they are emitted")
	out := flag.String("o", "", "file for the table; \"\": standard output")
	verdicts := flag.String("verdicts", "", "file for the verdict of each peer on each vector")
	jobs := flag.Int("jobs", 2, "processes of each peer")
	flag.Parse()
	if *serve != "" {
		if err := serveRequests(*serve); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	o := options{*only, *caseID, *python, *installed, *dir, *out, *report, *verdicts, *jobs}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only, caseID, python, installed, dir, out, report, verdicts string

	jobs int
}

func (o *options) run() error {
	ctx := context.Background()
	only, caseID, python, installed, dir, out, report := o.only, o.caseID, o.python, o.installed, o.dir, o.out, o.report
	if only != "" && !slices.ContainsFunc(peers, func(p peer) bool { return p.name == only }) {
		return fmt.Errorf("no peer %q", only)
	}
	if caseID != "" && only == "" {
		return fmt.Errorf("-case %s needs -peer", caseID)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	java := "java -Xss16m"
	if versions, err := os.ReadFile(filepath.Join(installed, "java", "versions")); err == nil {
		java += " " + strings.Join(strings.Fields(string(versions)), " ")
	}
	names := strings.NewReplacer("$java", java+" -cp '$installed/java:$installed/java/lib/*' Adapter")
	values := strings.NewReplacer("$self", self, "$python", python, "$installed", installed)
	if dir == "" {
		tmp, err := os.MkdirTemp("", "peers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = filepath.Join(tmp, "vectors")
		if _, err := crosscheck.Emit(ctx, dir, nil); err != nil {
			return err
		}
	}
	m, err := crosscheck.Load(dir)
	if err != nil {
		return err
	}
	var all []outcome
	for _, p := range peers {
		if only != "" && p.name != only {
			continue
		}
		result := outcome{peer: p}
		if p.module != "" {
			result.missing = moduleMissing(ctx, p.module)
		} else if file := values.Replace(p.files); p.files != "" && !exists(file) {
			result.missing = "not installed"
		} else {
			options := crosscheck.RunOptions{Adapter: values.Replace(names.Replace(p.command)), Writes: p.writes, Only: caseID, Timeout: 20 * time.Second, Workers: o.jobs}
			start := time.Now()
			if result.report, err = crosscheck.Run(ctx, dir, options); err != nil {
				result.missing = err.Error()
			} else if report != "" {
				if err := result.report.WriteUpstream(ctx, dir, options, filepath.Join(report, p.name)); err != nil {
					return fmt.Errorf("%s: %w", p.name, err)
				}
			}
			result.took = time.Since(start)
		}
		all = append(all, result)
		if result.missing != "" {
			fmt.Fprintf(os.Stderr, "peers: %s: %s\n", p.name, result.missing)
			continue
		}
		fmt.Fprintf(os.Stderr, "peers: %s %s: %d cases in %.0f s\n", p.name, result.report.Version, len(result.report.Results), result.took.Seconds())
	}
	if caseID != "" {
		return explain(all, caseID)
	}
	if o.verdicts != "" {
		if err := os.WriteFile(o.verdicts, []byte(verdictTable(m, all)), 0o644); err != nil {
			return err
		}
	}
	w := io.Writer(os.Stdout)
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			return err
		}
		defer f.Close()
		w = f
	}
	return table(w, m, all)
}

// moduleMissing asks for a Go module and returns the reason why it is not tested.
func moduleMissing(ctx context.Context, module string) string {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", module+"@latest").CombinedOutput()
	if err == nil {
		return "available, but without an adapter"
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	reason := strings.TrimPrefix(strings.TrimSpace(lines[len(lines)-1]), "server response: ")
	return "not downloaded: " + strings.TrimSuffix(reason, ".")
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// outcome is the result of one peer.
type outcome struct {
	peer    peer
	missing string             // the reason why the peer was not tested
	report  *crosscheck.Report // nil if it was not tested
	took    time.Duration
}

// serveRequests is the adapter of a Go peer.
func serveRequests(name string) error {
	i := slices.IndexFunc(goPeers, func(p goPeer) bool { return p.name == name })
	if i < 0 || goPeers[i].version() == "" {
		return fmt.Errorf("no Go peer %q in this build", name)
	}
	p := goPeers[i]
	fmt.Printf("hyperslab.crosscheck.adapter/1\t%s\t%s\n", name, p.version())
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] != "read" || len(f) != 7 {
			fmt.Println("skip")
			continue
		}
		item, err := strconv.Atoi(f[6])
		if err != nil {
			return err
		}
		answer, message := answerTo(p, request{path: f[1], area: f[3], object: f[4], dtype: f[5], item: item}, f[2])
		fmt.Println(strings.TrimSuffix(answer+"\t"+strings.NewReplacer("\t", " ", "\n", " ").Replace(message), "\t"))
	}
}

// answerTo reads one file into out, and returns the fields of the answer.
func answerTo(p goPeer, in request, out string) (answer, message string) {
	if !p.asks(in) {
		return "skip", ""
	}
	defer func() {
		if r := recover(); r != nil {
			answer, message = "crash", fmt.Sprint("panic: ", r)
		}
	}()
	got, err := p.read(in)
	if err == nil {
		err = os.WriteFile(out, got, 0o644)
	}
	if err != nil {
		return "refused", err.Error()
	}
	return "ok", p.form
}
