// The table: peers by area, and the findings, each with a command that reproduces it.

package main

import (
	"encoding/binary"
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

// storedFrom converts numbers that a peer returned as float64 to stored elements. An equal number
// becomes the element of the reference, any other number its complement, so that it counts as a
// difference.
func storedFrom(dir string, c crosscheck.Case, got []byte) ([]byte, error) {
	want, err := crosscheck.Decode(dir, c)
	if err != nil {
		return nil, err
	}
	size := c.Decoded.Item
	n := len(got) / 8
	out := make([]byte, n*size)
	for i := range n {
		v := math.Float64frombits(binary.LittleEndian.Uint64(got[8*i:]))
		e := out[i*size : (i+1)*size]
		if at := (i + 1) * size; at <= len(want) {
			copy(e, want[at-size:at])
			if w := number(e, c.Decoded.DType); w == v || w != w && v != v {
				continue
			}
			for k := range e {
				e[k] = ^want[at-size+k]
			}
		}
	}
	return out, nil
}

// number returns the value of a stored element as a float64.
func number(e []byte, dtype string) float64 {
	var u uint64
	for i := range e {
		k := len(e) - 1 - i // little-endian
		if dtype[0] == '>' {
			k = i
		}
		u = u<<8 | uint64(e[k])
	}
	bits := uint(8 * len(e))
	switch dtype[1] {
	case 'i':
		return float64(int64(u<<(64-bits)) >> (64 - bits))
	case 'u', 'b':
		return float64(u)
	}
	switch bits {
	case 16:
		return half(uint16(u))
	case 32:
		return float64(math.Float32frombits(uint32(u)))
	}
	return math.Float64frombits(u)
}

func half(h uint16) float64 {
	sign, exp, mant := float64(1), int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(mant, -24)
	case 31:
		if mant != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+mant, exp-25)
}

var columns = []crosscheck.Verdict{crosscheck.Pass, crosscheck.Refused, crosscheck.Wrong, crosscheck.WronglyAccepted, crosscheck.Crash, crosscheck.Hang}

// word summarizes an area: the worst result for valid vectors, and the results for broken ones.
func word(sound, broken map[crosscheck.Verdict]int) string {
	asked := 0
	for _, n := range sound {
		asked += n
	}
	w := "all valid cases right"
	switch {
	case sound[crosscheck.Crash]+sound[crosscheck.Hang] > 0:
		w = "crashes"
	case sound[crosscheck.Wrong] > 0:
		w = "partly right, silently wrong in some cases"
	case sound[crosscheck.Refused] == asked:
		w = "refused"
	case sound[crosscheck.Refused] > 0:
		w = "partly right"
	}
	if broken[crosscheck.WronglyAccepted] > 0 {
		w += "; accepts some invalid files"
	}
	if broken[crosscheck.Crash]+broken[crosscheck.Hang] > 0 {
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
- *hang*: it took more than %v.

A reader gets only the cases that its interface can express; the column "cases" contains their number. A case that the reader does not claim to support counts as refused.

The vectors test unusual forms of the formats. Therefore a low count does not measure how a reader handles usual files.

| reader | version | area | summary | cases | right | refused | silently wrong | accepts invalid | crash | hang |
|---|---|---|---|---|---|---|---|---|---|---|
`, time.Now().UTC().Format("2006-01-02"), strings.Join(versions, ", "), len(m.Cases), limit)
	must := make(map[string]crosscheck.Must, len(m.Cases))
	for _, c := range m.Cases {
		must[c.ID] = c.Must
	}
	for _, o := range all {
		if o.version == "" {
			fmt.Fprintf(b, "| %s | not available | | | | | | | | | |\n", o.peer.name)
			continue
		}
		for _, area := range crosscheck.Areas() {
			n, sound, broken := make(map[crosscheck.Verdict]int), make(map[crosscheck.Verdict]int), make(map[crosscheck.Verdict]int)
			asked := 0
			for _, r := range o.results {
				if r.Area != area {
					continue
				}
				asked++
				n[r.Verdict]++
				if must[r.Case] == crosscheck.Accept {
					sound[r.Verdict]++
				} else {
					broken[r.Verdict]++
				}
			}
			if asked == 0 {
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s | %d |", o.peer.name, o.version, area, word(sound, broken), asked)
			for _, v := range columns {
				fmt.Fprintf(b, " %d |", n[v])
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\nThe readers:\n\n")
	for _, o := range all {
		fmt.Fprintf(b, "- `%s`: %s\n", o.peer.name, o.peer.about)
	}
	b.WriteString("\n## Findings\n\nThe tables list the failures of each reader. Each row groups similar failures and contains one example. The command `./run -peer PEER -case CASE`, in crosscheck/peers, repeats an example. `./run -peer PEER` also lists the groups that the tables omit.\n")
	most := 25
	if len(all) == 1 {
		most = math.MaxInt
	}
	for _, o := range all {
		findings(b, o, most)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// numbers matches numbers in a message. Failures whose messages differ only in numbers are grouped.
var numbers = regexp.MustCompile(`(0x)?[0-9a-f]*[0-9][0-9a-f]*`)

// findings lists at most the given number of groups of failures.
func findings(b *strings.Builder, o outcome, most int) {
	type group struct {
		first crosscheck.Result
		n     int
	}
	groups := make(map[string]*group)
	var order []string
	for _, r := range o.results {
		if r.Verdict == crosscheck.Pass {
			continue
		}
		text := r.Detail
		if r.Verdict == crosscheck.Wrong {
			text = "" // the position of the difference depends on the data
			if r.Explanation != nil {
				text = r.Explanation.Rule
			}
		}
		directory := r.Case
		if parts := strings.Split(r.Case, "/"); len(parts) > 2 && r.Verdict != crosscheck.WronglyAccepted {
			directory = parts[0] + "/" + parts[1]
		} else {
			directory = parts[0]
		}
		key := directory + string(r.Verdict) + numbers.ReplaceAllString(text, "#")
		if r.Verdict == crosscheck.WronglyAccepted {
			key = directory + string(r.Verdict)
		}
		if groups[key] == nil {
			groups[key] = &group{first: r}
			order = append(order, key)
		}
		groups[key].n++
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n| cases | verdict | example | detail |\n|---|---|---|---|\n", o.peer.name)
	slices.SortStableFunc(order, func(x, y string) int { return groups[y].n - groups[x].n })
	for i, key := range order {
		if i == most {
			rest := 0
			for _, key := range order[most:] {
				rest += groups[key].n
			}
			fmt.Fprintf(b, "| %d | %d other groups | | |\n", rest, len(order)-most)
			break
		}
		g := groups[key]
		fmt.Fprintf(b, "| %d | %s | `%s` | %s |\n", g.n, g.first.Verdict, g.first.Case, cell(g.first.Detail))
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

func explain(all []outcome, id string) error {
	for _, o := range all {
		for _, r := range o.results {
			fmt.Printf("%s %s, %s: %s\n", o.peer.name, o.version, r.Case, r.Verdict)
			switch {
			case r.Explanation != nil:
				fmt.Println(r.Explanation)
			case r.Detail != "":
				fmt.Println(r.Detail)
			}
			return nil
		}
	}
	return fmt.Errorf("no peer was asked for %q", id)
}
