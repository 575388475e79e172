package crosscheck_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/crosscheck"
)

// sampleReport returns a report with every verdict in two areas. Its strings contain characters
// that XML and JSON must escape.
func sampleReport() *crosscheck.Report {
	r := &crosscheck.Report{Schema: crosscheck.ReportSchema, Subject: "./reader <&\"'>", Counts: map[string]map[crosscheck.Verdict]int{"chunk": {}, "hdf5": {}}}
	for i, v := range crosscheck.Verdicts {
		for _, area := range []string{"chunk", "hdf5"} {
			x := crosscheck.Result{Case: fmt.Sprintf("%s/%d", area, i), Direction: crosscheck.Reading, Area: area, Verdict: v, Time: time.Duration(i) * time.Millisecond}
			if v != crosscheck.Pass {
				x.Detail = "status 3: \x1b[31m]]> <&\"'\x00\xff größe"
			}
			if v == crosscheck.Wrong {
				x.Explanation = &crosscheck.Explanation{Offset: 3, Got: "01", Want: "02", GotSize: 9, WantSize: 9, Block: -1, Stream: -1, Stage: "codec", Index: []int64{1, 2}, Header: []string{"a = 1"}}
			}
			r.Results = append(r.Results, x)
			r.Counts[area][v]++
		}
	}
	return r
}

// TestJUnit_schema checks that WriteJUnit writes valid XML with only the elements and attributes of
// JUnit, for any program output, and that its counts are those of the results.
func TestJUnit_schema(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b))
	attributes := map[string]string{
		"testsuites": "name", "testsuite": "name tests failures errors time", "testcase": "classname name time", "failure": "type message", "error": "type message",
	}
	inside := map[string]string{"testsuites": "", "testsuite": "testsuites", "testcase": "testsuite", "failure": "testcase", "error": "testcase"}
	number := func(e xml.StartElement, name string) float64 {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				v, err := strconv.ParseFloat(a.Value, 64)
				require.NoError(t, err)
				return v
			}
		}
		t.Fatalf("<%s> has no %s", e.Name.Local, name)
		return 0
	}
	counted := make(map[string]float64)
	var open []string
	d := xml.NewDecoder(&b)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			name := e.Name.Local
			wanted, known := attributes[name]
			require.True(t, known, name)
			above := ""
			if len(open) > 0 {
				above = open[len(open)-1]
			}
			require.Equal(t, inside[name], above)
			var has []string
			for _, a := range e.Attr {
				has = append(has, a.Name.Local)
				require.NotContains(t, a.Value, "\x1b")
			}
			require.Equal(t, wanted, strings.Join(has, " "))
			if name == "testsuite" {
				for _, part := range []string{"tests", "failures", "errors"} {
					counted["attribute "+part] += number(e, part)
				}
			}
			counted[name]++
			open = append(open, name)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	require.Equal(t, map[string]float64{
		"testsuites": 1, "testsuite": 2, "testcase": 14, "failure": 8, "error": 4, "attribute tests": 14, "attribute failures": 8, "attribute errors": 4,
	}, counted)
}

// TestJUnit_directions checks that reading and writing one case give two test cases in two suites.
func TestJUnit_directions(t *testing.T) {
	t.Parallel()
	r := &crosscheck.Report{Results: []crosscheck.Result{
		{Case: "chunk/a", Area: "chunk", Direction: crosscheck.Reading, Verdict: crosscheck.Pass},
		{Case: "chunk/a", Area: "chunk", Direction: crosscheck.Writing, Verdict: crosscheck.Unreadable},
	}}
	var b bytes.Buffer
	require.NoError(t, r.WriteJUnit(&b))
	require.Contains(t, b.String(), `<testsuite name="chunk" tests="1" failures="0"`)
	require.Contains(t, b.String(), `<testsuite name="write chunk" tests="1" failures="1"`)
	require.Contains(t, b.String(), `<testcase classname="crosscheck.write chunk" name="chunk/a"`)
}

// TestReport_roundTrip checks that decoding the JSON report gives the same report.
func TestReport_roundTrip(t *testing.T) {
	t.Parallel()
	r := sampleReport()
	for i := range r.Results {
		r.Results[i].Detail = strings.ToValidUTF8(r.Results[i].Detail, "?")
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var back crosscheck.Report
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&back))
	require.Equal(t, r, &back)
}

// TestRun_limits checks that the memory limit restricts the address space of the command, and that
// the time limit also ends processes that the command started.
func TestRun_limits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "v")
	crosscheck.Part(t, dir, func(c crosscheck.Case) bool { return c.ID == "chunk/refuse/empty" })
	verdict := func(o crosscheck.RunOptions) crosscheck.Verdict {
		r, err := crosscheck.Run(t.Context(), dir, o)
		require.NoError(t, err)
		require.Len(t, r.Results, 1)
		return r.Results[0].Verdict
	}
	limited := `test "$(ulimit -v)" = 524288 && cp {in} {out}`
	require.Equal(t, crosscheck.WronglyAccepted, verdict(crosscheck.RunOptions{Read: limited, Memory: 512 << 20, Timeout: time.Minute}))
	require.Equal(t, crosscheck.Pass, verdict(crosscheck.RunOptions{Read: limited, Timeout: time.Minute}), "no limit")

	id := filepath.Join(t.TempDir(), "id")
	require.Equal(t, crosscheck.Hang, verdict(crosscheck.RunOptions{Read: "sleep 3600 & echo $! >" + id + ".new && mv " + id + ".new " + id + "; wait; : {in} {out}", Timeout: 5 * time.Second}))
	text, err := os.ReadFile(id)
	if errors.Is(err, os.ErrNotExist) {
		return // the time limit ended the command before it wrote the file
	}
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, time.Minute, 10*time.Millisecond, "the child process still runs")
}
