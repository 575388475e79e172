// Tests of the JSON documents of commands that fail or read untrusted files.

package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// failing writes bad.h5, whole.b2nd and bad.b2nd. In bad.h5, the second of three chunks of /corrupt
// is corrupt, the source of /virtual is missing, and /plain is valid. whole.b2nd is valid, and
// bad.b2nd is a truncated copy of it.
func failing(t *testing.T) {
	t.Helper()
	f, err := h5.Create("bad.h5", nil)
	require.NoError(t, err)
	space := h5.SimpleSpace(300)
	for name, o := range map[string]*h5.DatasetOptions{
		"corrupt": {ChunkShape: []int64{100}, Filters: []h5.Filter{h5.Fletcher32()}},
		"plain":   nil,
		"virtual": {Mappings: []h5.Mapping{{Region: space.All(), File: "missing.h5", Dataset: "x", Source: space, SourceRegion: space.All()}}},
	} {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.NativeOrder), space, o)
		require.NoError(t, err)
		if name != "virtual" {
			values := make([]int32, 300)
			for i := range values {
				values[i] = 0x01010101 * int32(i/100+1)
			}
			require.NoError(t, h5value.Write(d, values, space.All()))
		}
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile("bad.h5")
	require.NoError(t, err)
	second := bytes.Repeat([]byte{2}, 400)
	require.Equal(t, 2, bytes.Count(b, second), "in two datasets")
	at := bytes.Index(b, second)
	if !bytes.Equal(b[at-400:at], bytes.Repeat([]byte{1}, 400)) { // found the chunk of /corrupt, not the middle of /plain
		b[at+7] = 9
	} else {
		b[at+400+bytes.Index(b[at+400:], second)+7] = 9
	}
	require.NoError(t, os.WriteFile("bad.h5", b, 0o600))
	create[int32](t, "whole.b2nd", ndarray.Spec{Shape: []int64{300}, ChunkShape: []int64{100}}, make([]int32, 300))
	b, err = os.ReadFile("whole.b2nd")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("bad.b2nd", b[:len(b)-10], 0o600))
}

// documents checks that text is empty or consists of complete JSON documents, and returns their
// number.
func documents(t *testing.T, text, line string) (n int) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if err == io.EOF {
			return n
		}
		require.NoError(t, err, "%s: %s", line, text)
		require.Contains(t, doc, "schema", line)
		n++
	}
}

// TestJSON_errors checks that a command with --json that fails in the middle writes one complete
// document or no output, and that it fails if it cannot write the document.
func TestJSON_errors(t *testing.T) {
	t.Chdir(t.TempDir())
	failing(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, full.Close()) }()
	seen := map[string]bool{}
	for _, x := range []struct {
		command string // the first words of the command line
		fails   string // the remaining words, for a source with errors
		works   string // the remaining words, for a valid source
	}{
		{"ls", "-r bad.b2nd", "bad.h5"},
		{"tree", "bad.b2nd", "bad.h5"},
		{"info", "bad.b2nd", "whole.b2nd"},
		{"chunks", "bad.b2nd", "whole.b2nd"},
		{"index", "missing.h5 -o i.index", "whole.b2nd -o i.index"},
		{"dump", "bad.h5:/corrupt", "bad.h5:/plain"},
		{"dump", "bad.h5:/virtual", "whole.b2nd"},
		{"stats", "bad.h5:/corrupt", "bad.h5:/plain"},
		{"stats", "bad.h5:/virtual", "whole.b2nd"},
		{"explain", "missing.b2nd", "bad.b2nd"},
		{"plot", "bad.h5:/corrupt -o p.png", "bad.h5:/plain -o q.png"},
		{"convert", "bad.h5:/corrupt c.b2nd", "bad.h5:/plain d.b2nd"},
		{"convert", "bad.h5:/virtual c.b2nd", "bad.h5:/plain d.h5:/x"},
		{"convert", "bad.h5 tree", "bad.h5 tree2 --skip-unreadable --allow-missing"},
		{"convert", "--into . --format npy whole.b2nd bad.b2nd", "--into . --format bcolz whole.b2nd"},
		{"diff", "bad.h5:/corrupt bad.h5:/plain", "bad.h5:/plain whole.b2nd"},
		{"diff", "bad.h5 bad.h5", "whole.b2nd whole.b2nd"},
		{"verify", "missing.h5", "bad.h5"},
		{"scan", "missing.h5", "bad.h5"},
		{"recover", "missing.h5 r.h5", "bad.h5 r2.h5"},
		{"repack", "bad.h5 r3.h5 --codec deflate", "whole.b2nd r4.b2nd"},
		{"plan", "copy bad.b2nd p.b2nd", "copy whole.b2nd p.b2nd"},
		{"plan", "stats whole.b2nd whole.b2nd", "stats whole.b2nd p.json -o p.plan"},
		{"work", "missing.plan --all", "p.plan --all"},
		{"commit", "missing.plan", "p.plan"},
		{"cp", "bad.h5:/virtual sub/r5.h5:/x", "bad.h5:/plain r6.h5:/x"},
		{"append", "whole.b2nd bad.b2nd", "whole.b2nd whole.b2nd"},
		{"virtual", "bad.h5:/missing v.h5:/x", "bad.h5:/plain v.h5:/x"},
		{"attr list", "bad.b2nd", "whole.b2nd"},
		{"attr get", "whole.b2nd missing", ""},
		{"attr set", "bad.b2nd n 1", "whole.b2nd n 1"},
		{"attr rm", "whole.b2nd missing", "whole.b2nd n"},
		{"rm", "bad.h5:/missing", "r6.h5:/x"},
		{"bench", "bad.b2nd --seconds 0", "bad.h5:/plain --codec lz4 --level 1 --seconds 0"},
		{"crosscheck advise", "missing.h5", "whole.b2nd"},
		{"crosscheck archive", "bad.h5 --area metalayer", "v.zip --area metalayer"},
		{"crosscheck emit", "bad.h5 --area metalayer", "v --area metalayer"},
		{"crosscheck run", "missing --read x", ""},
		{"version", "--check extra", "--libs"},
	} {
		line := x.command + " " + x.fails
		args := append(strings.Fields(line), "--json")
		stdout, stderr, code := run(args...)
		require.NotZero(t, code, line)
		require.LessOrEqual(t, documents(t, stdout, line), 1, line)
		if stdout == "" {
			require.NotEmpty(t, stderr, line)
		}
		seen[x.command] = true
		if x.works == "" {
			continue
		}
		line = x.command + " " + x.works
		var errs bytes.Buffer
		code = cli.Run(append(strings.Fields(line), "--json"), strings.NewReader(""), full, &errs)
		require.NotZero(t, code, "%s on a full disk", line)
		require.Contains(t, errs.String(), "no space left on device", line)
	}
	for _, name := range leaves(t) {
		require.True(t, seen[name], "no error of %s --json was looked at", name)
	}
}

// TestJSON_isolation checks that the JSON output of every command with --untrusted reports how the
// command isolated the file.
func TestJSON_isolation(t *testing.T) {
	t.Chdir(t.TempDir())
	failing(t)
	lines := map[string]string{
		"ls": "whole.b2nd", "tree": "whole.b2nd", "info": "whole.b2nd", "chunks": "whole.b2nd", "dump": "whole.b2nd", "stats": "whole.b2nd",
		"plot": "whole.b2nd -o p.png -f", "convert": "whole.b2nd c.h5:/x -f", "diff": "whole.b2nd whole.b2nd", "verify": "whole.b2nd",
		"recover": "whole.b2nd r.b2nd -f", "repack": "whole.b2nd p.b2nd -f", "attr list": "whole.b2nd", "attr get": "u.h5:/x units",
		"bench": "whole.b2nd --codec lz4 --level 1 --seconds 0",
	}
	f, err := h5.Create("u.h5", nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.NativeOrder), h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(d, "units", []int32{1}))
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	tested := 0
	for _, name := range leaves(t) {
		help, _, code := run(append(strings.Fields(name), "--help")...)
		require.Zero(t, code, name)
		if !strings.Contains(help, "\n      --untrusted ") {
			continue
		}
		require.Contains(t, lines, name)
		for _, isolation := range []string{"full", "none"} {
			if isolation == "none" && !strings.Contains(help, "\n      --sandbox ") {
				continue
			}
			args := append(strings.Fields(name+" "+lines[name]), "--untrusted", "--json")
			if isolation == "none" {
				args = append(args, "--sandbox=false")
			}
			stdout, stderr, code := run(args...)
			require.Zero(t, code, "%v: %s", args, stderr)
			var doc struct {
				Isolation string
				Files     []struct{ Sandbox *string }
			}
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc), "%v: %s", args, stdout)
			if name == "verify" {
				require.Len(t, doc.Files, 1)
				require.Equal(t, isolation == "full", doc.Files[0].Sandbox != nil)
				continue
			}
			require.Equal(t, isolation, doc.Isolation, "%v", args)
		}
		tested++
	}
	require.Equal(t, len(lines), tested)
}

// TestDump_csvSafe checks that a string or a field name gets an apostrophe if a spreadsheet may
// read it as a formula. Other strings and all numbers must stay as they are.
func TestDump_csvSafe(t *testing.T) {
	t.Chdir(t.TempDir())
	formulas := []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "  +1", "\"=1", "'=1", "' \"@x", "\u00a0=1", "＝1", "＋1", "－1", "＠x", "=cmd|' /C calc'!A0", "\t", "-",
	}
	harmless := []string{"text", "a=1", "1-1", "\"quoted\"", "a@b", " x", "1\t2", "ü"}
	f, err := h5.Create("s.h5", nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), h5.SimpleSpace(int64(len(formulas)+len(harmless))), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, append(append([]string{}, formulas...), harmless...), h5.All))
	require.NoError(t, d.Close())
	text, number := h5.FixedString(4, h5.NullPad, h5.ASCII), h5.Int(4, h5.LittleEndian)
	record := h5.Datatype{Class: h5.Compound, Size: 8, Members: []h5.Member{{Name: "=sum", Offset: 0, Type: &text}, {Name: " +n", Offset: 4, Type: &number}}}
	d, err = f.Root().CreateDataset("r", record, h5.SimpleSpace(1), nil)
	require.NoError(t, err)
	require.NoError(t, d.WriteRegion([]byte("@x\x00\x00\xff\xff\xff\xff"), record, h5.SimpleSpace(1).All()))
	require.NoError(t, errors.Join(d.Close(), f.Close()))

	rows := func(args ...string) [][]string {
		t.Helper()
		r := csv.NewReader(strings.NewReader(done(t, append([]string{"dump", "--csv", "--csv-safe"}, args...)...)))
		r.FieldsPerRecord = -1
		all, err := r.ReadAll()
		require.NoError(t, err)
		return all
	}
	require.Equal(t, [][]string{{"'=sum", "' +n"}, {"'@x", "-1"}}, rows("s.h5:/r"))
	stdout := done(t, "dump", "--csv", "--csv-safe", "s.h5:/s")
	for _, s := range formulas {
		require.Contains(t, stdout, "'"+strings.ReplaceAll(s, "\"", "\"\""), "%q", s)
	}
	for _, s := range harmless {
		require.NotContains(t, stdout, "'"+s+"\n", "%q", s)
	}
}

// TestRun_attributeOfUnknownType checks that a dataset and its other attributes stay readable if
// one attribute has a datatype that libhdf5 does not support. Commands that copy attributes must
// report it.
func TestRun_attributeOfUnknownType(t *testing.T) {
	for _, x := range []struct {
		name      string
		low       h5.LibVer
		more      int    // further attributes
		structure string // signature of the structure with a checksum that contains the attribute
	}{
		{"object header of version 1", h5.Earliest, 0, ""},
		{"object header of version 2", h5.LatestFormat, 0, "OHDR"},
		{"dense storage", h5.V18, 20, "FHDB"},
		{"dense storage of the latest format", h5.LatestFormat, 20, "FHDB"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			unknownAttribute(t, x.low, x.more, x.structure)
			checkUnknownAttribute(t, 3+x.more)
		})
	}
}

// unknownAttribute writes u.h5 with the dataset x. Its attribute "later" has a datatype of a
// version that libhdf5 does not support. Its other attributes are valid.
func unknownAttribute(t *testing.T, low h5.LibVer, more int, structure string) {
	t.Helper()
	f, err := h5.Create("u.h5", &h5.CreateOptions{Low: low, High: h5.LatestFormat})
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", h5.Int(4, h5.NativeOrder), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, []int32{5, 6}, h5.All))
	require.NoError(t, h5value.WriteAttr(d, "before", []string{"text"}, h5.ScalarSpace()))
	require.NoError(t, h5value.WriteAttr(d, "later", []float64{1.5}))
	require.NoError(t, h5value.WriteAttr(d, "n", []int32{7}, h5.ScalarSpace()))
	for i := range more {
		require.NoError(t, h5value.WriteAttr(d, fmt.Sprintf("more%d", i), []int16{int16(i)}, h5.ScalarSpace()))
	}
	require.NoError(t, errors.Join(d.Close(), f.Close()))
	b, err := os.ReadFile("u.h5")
	require.NoError(t, err)
	at := bytes.Index(b, []byte("later\x00"))
	require.Positive(t, at)
	at += bytes.Index(b[at:], []byte{0x20, 0x3f, 0, 8, 0, 0, 0}) - 1 // start of an IEEE float type of 8 bytes
	change := func() { b[at] = 0x61 }                                // version 6
	switch structure {
	case "":
		change()
	case "OHDR": // the checksum is after the messages
		start := bytes.LastIndex(b[:at], []byte(structure))
		end := at
		for h5file.Lookup3(b[start:end]) != binary.LittleEndian.Uint32(b[end:]) {
			end++
		}
		change()
		binary.LittleEndian.PutUint32(b[end:], h5file.Lookup3(b[start:end]))
	case "FHDB": // the checksum is in the header and counts as zero when it is computed
		start := bytes.LastIndex(b[:at], []byte(structure))
		const header = 4 + 1 + 8 + 5
		sum := b[start+header:][:4]
		want := binary.LittleEndian.Uint32(sum)
		clear(sum)
		size := 512
		for h5file.Lookup3(b[start:start+size]) != want {
			size *= 2
		}
		change()
		binary.LittleEndian.PutUint32(sum, h5file.Lookup3(b[start:start+size]))
	}
	require.NoError(t, os.WriteFile("u.h5", b, 0o600))
}

// checkUnknownAttribute checks the commands on the file of unknownAttribute.
func checkUnknownAttribute(t *testing.T, attributes int) {
	t.Helper()
	require.Equal(t, "x\n5\n6\n", done(t, "dump", "--csv", "u.h5:/x"))
	require.Contains(t, done(t, "ls", "-l", "u.h5"), fmt.Sprintf(" %d\n", attributes))
	for _, args := range [][]string{{"info", "u.h5:/x"}, {"attr", "list", "u.h5:/x"}} {
		stdout := done(t, args...)
		for _, want := range []string{`"text"`, "later", "7"} {
			require.Contains(t, stdout, want)
		}
	}
	require.Equal(t, "7\n", done(t, "attr", "get", "u.h5:/x", "n", "--plain"))
	require.Equal(t, "text\n", done(t, "attr", "get", "u.h5:/x", "before"))
	for _, line := range []string{"attr get u.h5:/x later", "convert u.h5:/x a.b2nd", "convert u.h5 b.h5", "convert u.h5 dir"} {
		stdout, stderr, code := run(strings.Fields(line)...)
		require.Equal(t, 2, code, line+stdout)
		require.Contains(t, stderr, "later", line)
	}
	for _, line := range []string{"repack u.h5 r.h5", "cp u.h5:/x c.h5:/x"} {
		_, stderr, code := run(strings.Fields(line)...)
		require.Equal(t, 2, code, line)
		require.Contains(t, stderr, "/x", line)
		require.Contains(t, stderr, "attribute later", line)
		require.Contains(t, stderr, "datatype", line)
		require.Contains(t, stderr, "version", line)
	}
	_, stderr, code := run("repack", "u.h5", "skipped.h5", "--skip-unreadable")
	require.Equal(t, 3, code, stderr)
	require.Contains(t, stderr, "attribute later")
	done(t, "repack", "u.h5", "excluded.h5", "--exclude", "/x")
	for _, target := range []string{"a.b2nd", "b.h5:/y", "b2.h5"} {
		source := "u.h5:/x"
		if target == "b2.h5" {
			source = "u.h5"
		}
		stdout := done(t, "convert", "--json", source, target, "--exclude-unsupported")
		require.Contains(t, stdout, "attribute later", target)
		if target == "b2.h5" {
			target += ":/x"
		}
		require.Equal(t, "7\n", done(t, "attr", "get", target, "n", "--plain"))
		require.Equal(t, "5\n6\n", done(t, "dump", "--csv", "--no-header", target))
	}
}

// TestJSON_interrupted checks that a command with --json writes one complete document or no output
// if a signal stops it.
func TestJSON_interrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	create(t, "small.b2nd", ndarray.Spec{Shape: []int64{1}}, []int8{1})
	endless(t, "endless.b2nd")
	many := strings.Repeat(" small.b2nd", 20000)
	for _, line := range testenv.Sample([]string{
		"stats endless.b2nd",
		"stats endless.b2nd --untrusted",
		"diff endless.b2nd endless.b2nd",
		"plot endless.b2nd -o p.png",
		"convert endless.b2nd c.h5:/x",
		"repack endless.b2nd r.b2nd --chunks 2,1048576",
		"dump endless.b2nd",
		"bench endless.b2nd --seconds 20",
		"verify" + many,
		"scan" + many,
	}, 4) {
		name, _, _ := strings.Cut(line, " small")
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("hyperslab", append(strings.Fields(line), "--json")...)
			var stdout bytes.Buffer
			cmd.Stdout = &stdout
			require.NoError(t, cmd.Start())
			time.Sleep(400 * time.Millisecond) // the result does not depend on the progress at this time
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			require.Error(t, cmd.Wait())
			require.LessOrEqual(t, documents(t, stdout.String(), name), 1)
		})
	}
}
