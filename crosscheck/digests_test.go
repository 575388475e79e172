package crosscheck

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/digests.json")

// digests pins the bytes of all vectors to the versions of the libraries.
type digests struct {
	Versions map[string]string `json:"versions"`
	Areas    map[string]string `json:"areas"` // SHA-256 of the lines "id sha256 decoded sha256" of the cases
}

// TestVectors_digests checks that the vectors depend only on the versions of the libraries: their
// digests must equal those of testdata/digests.json, which was written at another time.
func TestVectors_digests(t *testing.T) {
	_, m := Corpus(t)
	got := digests{Versions: m.Versions, Areas: make(map[string]string)}
	lines := make(map[string]*strings.Builder)
	for _, c := range m.Cases {
		if lines[c.Area] == nil {
			lines[c.Area] = &strings.Builder{}
		}
		decoded := "refuse"
		if c.Decoded != nil {
			decoded = c.Decoded.SHA256
		}
		fmt.Fprintln(lines[c.Area], c.ID, c.SHA256, decoded)
	}
	for area, text := range lines {
		got.Areas[area] = hexSum([]byte(text.String()))
	}
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("testdata/digests.json", append(b, '\n'), 0o644))
	}
	b, err := os.ReadFile("testdata/digests.json")
	require.NoError(t, err)
	var want digests
	require.NoError(t, json.Unmarshal(b, &want))
	if fmt.Sprint(got.Versions) != fmt.Sprint(want.Versions) {
		t.Skipf("the libraries are %v, the table is of %v: bytes NOT compared", got.Versions, want.Versions)
	}
	require.Equal(t, want.Areas, got.Areas, "bytes changed with the same libraries: if vectors were added or changed on purpose, run this test with -update")
}
