// Comparison with the reference h5diff, whose report is parsed.

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sameByReference runs h5diff on a dataset and its copy at the same path of another file, which
// lacks the attributes that were left out.
//
// The flag --exclude-attribute leaves out all attributes of an object, and h5diff can report
// "objects are not comparable" with exit status 0. Therefore it runs with -v2, which lists each
// step, and each line must be one of a comparison of two equal datasets.
func sameByReference(h5diff tool, d dataset, other string) error {
	o, err := h5diff("-v2", "--no-compact-subset", d.file, other, d.path)
	if err != nil {
		return err
	}
	same := 0
	if len(d.leftOut) > 0 {
		same = 1 // h5diff counts missing attributes as differences
	}
	if o.code != same || o.stderr != "" {
		return o.failure()
	}
	if err := readReport(o.stdout, d); err != nil {
		return fmt.Errorf("%w\n%w", err, o.failure())
	}
	return nil
}

// Lines of a report on two equal datasets.
var (
	attributeLine = regexp.MustCompile(`^    (x| )      (x| )    (.*?) *$`)
	statusLine    = regexp.MustCompile(`^Attributes status:  ([0-9]+ common, [0-9]+ only in obj1, [0-9]+ only in obj2)$`)
	harmless      = regexp.MustCompile(`^(|dataset: <.*> and <.*>|attribute: <.*> and <.*>|0 differences found|   obj1   obj2| -+)$`)
	// The lines for a dataset without stored elements. hyperslab diff compares those.
	notStored = regexp.MustCompile(`^(Not comparable: <(.*)> or <(.*)> is an empty dataset|-+|Some objects are not comparable|Use -c for .*)$`)
)

// readReport checks the output of h5diff -v2 for d and its copy: no differences in the data and in
// common attributes, and only the excluded attributes are missing.
func readReport(report string, d dataset) error {
	var only, expected []string
	for _, u := range d.leftOut {
		expected = append(expected, u.Name)
	}
	labelled := false
	common, compared, status := 0, -1, "" // starts at -1 because the data are compared before the attributes
	for _, line := range strings.Split(report, "\n") {
		if m := attributeLine.FindStringSubmatch(line); m != nil {
			switch {
			case m[1] == "x" && m[2] == "x":
				common++
			case m[1] == "x":
				only = append(only, m[3])
			case m[3] == "DIMENSION_LABELS" && d.axes != nil && !labelled:
				// The dimension names without the scales that had them. prove compares the names.
				labelled = true
			default:
				return fmt.Errorf("h5diff found an attribute that the original has not: %s", m[3])
			}
			continue
		}
		if m := statusLine.FindStringSubmatch(line); m != nil {
			status = m[1]
			continue
		}
		if !harmless.MatchString(line) && !(d.unstored && notStored.MatchString(line)) {
			return fmt.Errorf("h5diff says %q", line)
		}
		if line == "0 differences found" {
			compared++
		}
	}
	slices.Sort(only)
	slices.Sort(expected)
	if !slices.Equal(only, expected) {
		return fmt.Errorf("h5diff misses the attributes %q, want %q", only, expected)
	}
	added := 0
	if labelled {
		added = 1
	}
	if status != fmt.Sprintf("%d common, %d only in obj1, %d only in obj2", common, len(only), added) || compared != common {
		return fmt.Errorf("h5diff compared %d of %d attributes", compared, common)
	}
	return nil
}
