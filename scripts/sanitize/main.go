// Command sanitize evaluates the logs that the sanitizers wrote during tests. `make sanitize` runs
// it.
//
// It reads the logs of AddressSanitizer and UndefinedBehaviorSanitizer in a directory, and a list
// of known undefined behaviour and failed assertions. It fails if there is a report of
// AddressSanitizer, or undefined behaviour or a failed assertion that is not listed with its place
// and kind.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	list := flag.String("known", "scripts/sanitize/known.txt", "the undefined behaviour that is known")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: sanitize [-known FILE] LOGS")
		os.Exit(2)
	}
	known, err := readKnown(*list)
	if err == nil {
		var s said
		if s, err = readLogs(flag.Arg(0)); err == nil && !s.write(os.Stdout, known) {
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sanitize:", err)
		os.Exit(2)
	}
}

// said contains the reports in the logs.
type said struct {
	undefined map[string]int    // number of processes by place and kind; includes failed assertions
	memory    map[string]int    // number of processes that AddressSanitizer ended, by kind and place
	first     map[string]string // the full first report of each of these
}

// readLogs reads every file of a directory. Each is the log of one process.
func readLogs(dir string) (said, error) {
	s := said{undefined: map[string]int{}, memory: map[string]int{}, first: map[string]string{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, err
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return s, err
		}
		s.add(string(b))
	}
	return s, nil
}

// add counts the reports of one process.
func (s *said) add(log string) {
	for rest := log; ; {
		at := strings.Index(rest, ": runtime error: ")
		if at < 0 {
			break
		}
		place := rest[strings.LastIndexByte(rest[:at], '\n')+1 : at]
		rest = rest[at+len(": runtime error: "):]
		text, after, _ := strings.Cut(rest, "\n")
		k := kind(strings.TrimSpace(place), assertion.ReplaceAllString(strings.TrimSpace(text), "failed: assert($1)"))
		if s.undefined[k]++; s.undefined[k] == 1 {
			s.first[k] = calls.FindString(after)
		}
	}
	_, report, ok := strings.Cut(log, "ERROR: AddressSanitizer: ")
	if !ok {
		// A failure of a sanitizer itself, of its memory or of a check, must count as a report.
		if _, report, ok = strings.Cut(log, "Sanitizer: CHECK failed: "); !ok {
			return
		}
		report = "CHECK failed: " + report
	}
	sum, _, _ := strings.Cut(report, "\n")
	if f := frame.FindStringSubmatch(report); f != nil { // the first frame with a line number, below memcpy and similar functions
		what, _, _ := strings.Cut(sum, " ")
		sum = what + " in " + f[1] + " " + f[2]
	}
	if s.memory[sum]++; s.memory[sum] == 1 {
		s.first[sum] = report
	}
}

var (
	numbers = regexp.MustCompile(`0x[0-9a-f]+|-?\b[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?\b|-?\b(inf|nan)\b`)
	frame   = regexp.MustCompile(`(?m)^ +#[0-9]+ 0x[0-9a-f]+ in (\S+) (\S+:[0-9]+)$`)
	calls   = regexp.MustCompile(`^( +#[0-9]+ .*\n)+`) // the calls that led to undefined behaviour
	// The form in which include/assert.h reports an assertion.
	assertion = regexp.MustCompile(`^index 0 out of bounds for type 'assertion (.*)'$`)
	column    = regexp.MustCompile(`:[0-9]+$`)
)

// kind returns the part of a report that is the same in every run: the file and line, and the
// message without its numbers. Paths of library files start with the name of the library.
func kind(place, text string) string {
	place = column.ReplaceAllString(place, "")
	for _, library := range []string{"c-blosc2", "hdf5", "zfp"} {
		if _, rest, ok := strings.Cut("/"+place, "/src/"+library+"/"); ok {
			place = library + "/" + rest
			break
		}
	}
	return place + ": " + numbers.ReplaceAllString(text, "N")
}

// readKnown reads a list of kinds, one per line. # begins a comment.
func readKnown(path string) (map[string]bool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			if known[line] {
				return nil, fmt.Errorf("%s: twice: %s", path, line)
			}
			known[line] = true
		}
	}
	return known, nil
}

// write prints the reports, and reports whether all of them are known.
func (s *said) write(w io.Writer, known map[string]bool) bool {
	good := len(s.memory) == 0
	for _, sum := range slices.Sorted(maps.Keys(s.memory)) {
		fmt.Fprintf(w, "sanitize: AddressSanitizer ended %d processes: %s\n%s\n", s.memory[sum], sum, head(s.first[sum], 40))
	}
	total := 0
	for _, k := range slices.Sorted(maps.Keys(s.undefined)) {
		total += s.undefined[k]
		if !known[k] {
			good = false
			fmt.Fprintf(w, "sanitize: undefined, and not in the list (%d processes): %s\n%s", s.undefined[k], k, head(s.first[k], 40))
		}
	}
	fmt.Fprintf(w, "sanitize: %d kinds of undefined behaviour and failed assertions in %d reports, %d kinds are known; %d faults of memory\n",
		len(s.undefined), total, len(known), len(s.memory))
	return good
}

// head returns the first lines of a text.
func head(text string, lines int) string {
	parts := strings.SplitAfterN(text, "\n", lines+1)
	return strings.Join(parts[:min(len(parts), lines)], "")
}
