// Reports in JUnit format for CI systems.

package crosscheck

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"` // seconds
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure,omitempty"`
	Error   *problem `xml:"error,omitempty"`
}

type problem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML. Each area is a suite; the suites of a writer have the
// prefix "write ". A crash or a hang is an error, every other verdict except Pass a failure.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "crosscheck " + r.Subject}
	at := make(map[string]int)
	times := make(map[string]float64)
	for _, x := range r.Results {
		suite := x.suite()
		i, ok := at[suite]
		if !ok {
			i = len(all.Suites)
			at[suite] = i
			all.Suites = append(all.Suites, junitSuite{Name: suite})
		}
		s := &all.Suites[i]
		c := junitCase{Class: "crosscheck." + suite, Name: x.Case, Time: fmt.Sprintf("%.6f", x.Time.Seconds())}
		if x.Verdict != Pass {
			text := x.Detail
			if x.Explanation != nil {
				text = x.Explanation.String()
			}
			p := &problem{Type: string(x.Verdict), Message: strings.ToValidUTF8(x.Detail, "?"), Text: strings.ToValidUTF8(text, "?")}
			if x.Verdict == Crash || x.Verdict == Hang {
				c.Error = p
				s.Errors++
			} else {
				c.Failure = p
				s.Failures++
			}
		}
		s.Tests++
		times[suite] += x.Time.Seconds()
		s.Time = fmt.Sprintf("%.6f", times[suite])
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
