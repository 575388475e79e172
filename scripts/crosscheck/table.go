// The table: peers by area, and the findings, each with a command that reproduces it.

package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/crosscheck"
)

var columns = []crosscheck.Verdict{crosscheck.Pass, crosscheck.Refused, crosscheck.Wrong, crosscheck.WronglyAccepted, crosscheck.Unreadable, crosscheck.Crash, crosscheck.Hang}

// summary summarizes an area: the worst result for valid vectors, and those for invalid ones.
func summary(valid, invalid map[crosscheck.Verdict]int) string {
	asked := 0
	for _, n := range valid {
		asked += n
	}
	w := "all valid cases right"
	switch {
	case valid[crosscheck.Unreadable] > 0:
		w = "writes some invalid files"
	case valid[crosscheck.Crash]+valid[crosscheck.Hang] > 0:
		w = "crashes"
	case valid[crosscheck.Wrong] > 0:
		w = "partly right, silently wrong in some cases"
	case valid[crosscheck.Refused] == asked:
		w = "refused"
	case valid[crosscheck.Refused] > 0:
		w = "partly right"
	}
	if invalid[crosscheck.WronglyAccepted] > 0 {
		w += "; accepts some invalid files"
	}
	if invalid[crosscheck.Crash]+invalid[crosscheck.Hang] > 0 {
		w += "; crashes on some invalid files"
	}
	return w
}

func table(w io.Writer, m *crosscheck.Manifest, all []outcome) error {
	b := &strings.Builder{}
	versions := make([]string, 0, len(m.Versions))
	for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
		versions = append(versions, name+" "+m.Versions[name])
	}
	fmt.Fprintf(b, `# Results of other implementations with the vectors of crosscheck

This page is for people who choose or maintain another reader of these formats. It lists how each reader handles the vectors of crosscheck.

Written by `+"`make crosscheck-peers`"+` on %s, with vectors of %s: %d cases.

The verdicts mean:

- *right*: the reader returns the bytes of the manifest, or refuses a vector that must be refused.
- *refused*: it returns an error for a valid vector.
- *silently wrong*: it returns other bytes without an error.
- *accepts invalid*: it returns no error for a vector that violates a rule of the format. Some readers leave such checks to other programs on purpose.
- *crash*: the process ended, or a Go program panicked. A panic that a caller could recover from counts as a crash.
- *hang*: it took more than 20 s.
- *unreadable*: the reference library, the readers in plain Go or `+"`verify`"+` refuse the file that the peer wrote.

Each peer runs in processes of its own, with at most 4 GiB of data and without a network. It gets only the cases that its interface can express; the column "cases" contains their number. A case that it does not claim to support counts as refused. An invalid vector counts only if the peer reads the valid vector from which it was made. In rows whose area starts with "write", the peer writes the file, the reference reads it, and the readers in plain Go and `+"`verify`"+` check it.

The vectors test unusual forms of the formats. Therefore a low count does not measure how a reader handles usual files.

The vectors exercise at least 95 %% of the rules of each format document that the reference libraries can express. [coverage.md](../crosscheck/coverage.md) lists the rules, and [crosscheck-peers.md](crosscheck-peers.md) describes how to test another implementation and how to get reports for its authors.

| peer | language | version | area | summary | cases | right | refused | silently wrong | accepts invalid | unreadable | crash | hang |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`, time.Now().UTC().Format("2006-01-02"), strings.Join(versions, ", "), len(m.Cases))
	must := make(map[string]crosscheck.Must, len(m.Cases))
	for _, c := range m.Cases {
		must[c.ID] = c.Must
	}
	for _, o := range all {
		if o.report == nil {
			fmt.Fprintf(b, "| %s | %s | | | unavailable: %s | | | | | | | | |\n", o.peer.name, o.peer.language, cell(o.missing))
			continue
		}
		areas := crosscheck.Areas()
		for _, area := range crosscheck.Areas() {
			areas = append(areas, "write "+area)
		}
		for _, area := range areas {
			n, valid, invalid := make(map[crosscheck.Verdict]int), make(map[crosscheck.Verdict]int), make(map[crosscheck.Verdict]int)
			asked := 0
			for _, r := range o.report.Results {
				if r.Area != strings.TrimPrefix(area, "write ") || (r.Direction == crosscheck.Writing) != strings.HasPrefix(area, "write ") {
					continue
				}
				asked++
				n[r.Verdict]++
				if must[r.Case] == crosscheck.Accept {
					valid[r.Verdict]++
				} else {
					invalid[r.Verdict]++
				}
			}
			if asked == 0 {
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d |", o.peer.name, o.peer.language, o.report.Version, area, summary(valid, invalid), asked)
			for _, v := range columns {
				fmt.Fprintf(b, " %d |", n[v])
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nThe peers:\n\n")
	for _, o := range all {
		fmt.Fprintf(b, "- `%s`: %s\n", o.peer.name, o.peer.about)
	}
	b.WriteString("\n## Findings\n\nThe tables list the failures of each reader. Each row groups similar failures and contains one example. The command `./run -peer PEER -case CASE`, in scripts/crosscheck, repeats an example, and `./run -peer PEER -report DIRECTORY` writes a report on each group, with a reduced file. `./run -peer PEER` also lists the groups that the tables omit.\n")
	most := 25
	if len(all) == 1 {
		most = math.MaxInt
	}
	for _, o := range all {
		if o.report == nil {
			continue
		}
		findings(b, o, most)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// findings lists at most the given number of groups of failures.
func findings(b *strings.Builder, o outcome, most int) {
	groups := o.report.Groups()
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| cases | verdict | example | detail |\n|---|---|---|---|\n", o.peer.name)
	for i, g := range groups {
		if i == most {
			rest := 0
			for _, g := range groups[most:] {
				rest += len(g.Cases)
			}
			fmt.Fprintf(b, "| %d | %d other groups | | |\n", rest, len(groups)-most)
			break
		}
		name := g.First.Case
		if g.First.Direction == crosscheck.Writing {
			name = "write " + name
		}
		fmt.Fprintf(b, "| %d | %s | `%s` | %s |\n", len(g.Cases), g.First.Verdict, name, cell(g.First.Detail))
	}
}

func cell(s string) string {
	s = strings.NewReplacer("|", "\\|", "\n", " ", "<", "\\<").Replace(strings.ToValidUTF8(s, "?"))
	s = regexp.MustCompile(`/[^ ,:'"]*/(vectors|v)/`).ReplaceAllString(s, "")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "…"
	}
	return s
}

// explain prints the result of one case.
func explain(all []outcome, id string) error {
	for _, o := range all {
		if o.report == nil {
			return fmt.Errorf("%s: %s", o.peer.name, o.missing)
		}
		for _, r := range o.report.Results {
			fmt.Printf("%s %s, %s %s: %s\n", o.peer.name, o.report.Version, r.Direction, r.Case, r.Verdict)
			switch {
			case r.Explanation != nil:
				fmt.Println(r.Explanation)
			case r.Detail != "":
				fmt.Println(r.Detail)
			}
		}
		if len(o.report.Results) == 0 {
			fmt.Printf("%s skips %s\n", o.peer.name, id)
		}
	}
	return nil
}

// letters are the verdicts of verdictTable.
var letters = map[crosscheck.Verdict]byte{
	crosscheck.Pass: '.', crosscheck.Refused: 'r', crosscheck.Wrong: 'w', crosscheck.WronglyAccepted: 'a', crosscheck.Crash: 'c', crosscheck.Hang: 'h',
}

// verdictTable lists the peers, and one letter of each of them for each vector. The test of
// crosscheck.Advise reads it.
func verdictTable(m *crosscheck.Manifest, all []outcome) string {
	b := &strings.Builder{}
	b.WriteString("# Verdicts of other readers, written by make crosscheck-peers: . right, r refused, w silently wrong, a invalid and accepted, c crash, h hang, - not asked.\n")
	var columns []map[string]byte
	for _, o := range all {
		if o.report == nil || o.peer.name == "format" {
			continue
		}
		fmt.Fprintf(b, "%s\t%s\t%s\n", o.peer.name, o.peer.language, o.report.Version)
		column := make(map[string]byte)
		for _, r := range o.report.Results {
			if r.Direction == crosscheck.Reading {
				column[r.Case] = letters[r.Verdict]
			}
		}
		columns = append(columns, column)
	}
	for _, c := range m.Cases {
		row := make([]byte, len(columns))
		for i, column := range columns {
			row[i] = '-'
			if letter, found := column[c.ID]; found {
				row[i] = letter
			}
		}
		fmt.Fprintf(b, "%s\t%s\n", c.ID, row)
	}
	return b.String()
}
