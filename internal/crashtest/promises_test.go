// SECURITY.md promises something for each writer that is tested here, and for no other.

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

func TestPromises(t *testing.T) {
	b, err := os.ReadFile("../../SECURITY.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(b), "## What a writer leaves behind\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	var promised []string
	for _, line := range strings.Split(section, "\n") {
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
