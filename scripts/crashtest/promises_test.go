// Comparison of the tested writers with docs/durability.md.

package crashtest_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocuments_Durability checks that docs/durability.md lists each tested writer, and no other.
func TestDocuments_Durability(t *testing.T) {
	b, err := os.ReadFile("../../docs/durability.md")
	require.NoError(t, err)
	var promised []string
	table, _, _ := strings.Cut(string(b), "\n## ") // the other sections are about locks
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| writer") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[3], -1) {
			promised = append(promised, m[1])
			require.Equal(t, scenarios[m[1]].old == nil, cells[1] == "nothing or new", m[1])
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(scenarios)), promised)
}
