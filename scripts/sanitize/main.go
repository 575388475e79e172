// Command sanitize judges what the sanitizers wrote while tests ran. `make sanitize` runs it.
//
// It reads the logs of AddressSanitizer and UndefinedBehaviorSanitizer in a folder and a
// list of the undefined behaviour and failed assertions that are known and judged, and
// fails if there is a report of AddressSanitizer, or undefined behaviour or a failed
// assertion at a place or of a kind that is not listed.
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

// said is what the logs hold.
type said struct {
	undefined map[string]int    // processes that met it, by place and kind; failed assertions too
	memory    map[string]int    // processes that AddressSanitizer ended, by kind and place
	first     map[string]string // the whole report of the first of these
}

// readLogs reads every file of a folder: one for each process that had something to say.
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
	for line := range strings.Lines(log) {
		if place, text, ok := strings.Cut(strings.TrimSpace(line), ": runtime error: "); ok {
			s.undefined[kind(place, assertion.ReplaceAllString(text, "failed: assert($1)"))]++
		}
	}
	_, report, ok := strings.Cut(log, "ERROR: AddressSanitizer: ")
	if !ok {
		// A sanitizer that fails itself, on its own memory or a check, must not pass for silence.
		if _, report, ok = strings.Cut(log, "Sanitizer: CHECK failed: "); !ok {
			return
		}
		report = "CHECK failed: " + report
	}
	sum, _, _ := strings.Cut(report, "\n")
	if f := frame.FindStringSubmatch(report); f != nil { // the first one with a line, below memcpy and the like
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
	// As include/assert.h has it reported.
	assertion = regexp.MustCompile(`^index 0 out of bounds for type 'assertion (.*)'$`)
	column    = regexp.MustCompile(`:[0-9]+$`)
)

// kind is what stays the same from run to run: the file and line, and the text without
// its numbers. Files of the libraries are named from the library's own folder.
func kind(place, text string) string {
	place = column.ReplaceAllString(place, "")
	for _, library := range []string{"c-blosc2", "hdf5"} {
		if _, rest, ok := strings.Cut("/"+place, "/src/"+library+"/"); ok {
			place = library + "/" + rest
			break
		}
	}
	return place + ": " + numbers.ReplaceAllString(text, "N")
}

// readKnown reads a list of kinds, one a line; # begins a comment.
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

// write prints what was said, and reports whether all of it is known.
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
			fmt.Fprintf(w, "sanitize: undefined, and not in the list (%d processes): %s\n", s.undefined[k], k)
		}
	}
	fmt.Fprintf(w, "sanitize: %d kinds of undefined behaviour and failed assertions in %d reports, %d kinds are known; %d faults of memory\n",
		len(s.undefined), total, len(known), len(s.memory))
	return good
}

// head is the beginning of a text, in lines.
func head(text string, lines int) string {
	parts := strings.SplitAfterN(text, "\n", lines+1)
	return strings.Join(parts[:min(len(parts), lines)], "")
}
