package crosscheck

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

//go:embed recall.txt
var recallText string

// TestRecall checks that recall.txt has at least 40 reports of defects, and that the vector of each
// exists.
func TestRecall(t *testing.T) {
	t.Parallel()
	_, m := Corpus(t)
	project, number := regexp.MustCompile(`^[\w.-]+/[\w.-]+$`), regexp.MustCompile(`^[0-9]+$`)
	reports := make(map[string]bool)
	for _, line := range strings.Split(strings.TrimSpace(recallText), "\n") {
		if strings.HasPrefix(line, "# ") {
			continue
		}
		f := strings.Split(line, " | ")
		require.Len(t, f, 4, line)
		require.Regexp(t, project, f[0])
		require.Regexp(t, number, f[1])
		require.False(t, reports[f[0]+f[1]+f[2]], "twice: %s", line)
		reports[f[0]+f[1]+f[2]] = true
		i := slices.IndexFunc(m.Cases, func(c Case) bool { return c.ID == f[3] })
		require.GreaterOrEqual(t, i, 0, "no vector %s", f[3])
	}
	require.GreaterOrEqual(t, len(reports), 40)
}
