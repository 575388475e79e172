package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColors(t *testing.T) {
	for _, tt := range []struct {
		name, flag string
		env        map[string]string
		want       Paint
	}{
		{"not a terminal", ColorAuto, nil, false},
		{"always", ColorAlways, nil, true},
		{"always wins over NO_COLOR", ColorAlways, map[string]string{"NO_COLOR": "1"}, true},
		{"never wins over CLICOLOR_FORCE", ColorNever, map[string]string{"CLICOLOR_FORCE": "1"}, false},
		{"CLICOLOR_FORCE", ColorAuto, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{"CLICOLOR_FORCE=0", ColorAuto, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{"NO_COLOR wins over CLICOLOR_FORCE", ColorAuto, map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Colors(tt.flag, new(strings.Builder), func(key string) string { return tt.env[key] })
			require.Equal(t, tt.want, got)
		})
	}
}

func TestTable(t *testing.T) {
	tab := Table{Head: []string{"NAME", "SIZE", "NOTE"}, Right: []bool{false, true, false}}
	tab.Add("short", "1", "last")
	tab.Add("much longer ☃", "1000")
	tab.Add("x", "22", "")
	var out strings.Builder
	require.NoError(t, tab.Write(&out, false))
	require.Equal(t, `NAME           SIZE  NOTE
short             1  last
much longer ☃  1000
x                22
`, out.String())

	out.Reset()
	require.NoError(t, tab.Write(&out, true))
	require.Equal(t, "\x1b[1mNAME\x1b[0m           \x1b[1mSIZE\x1b[0m  \x1b[1mNOTE\x1b[0m", strings.SplitN(out.String(), "\n", 2)[0])
	require.NotContains(t, strings.SplitN(out.String(), "\n", 2)[1], "\x1b", "data is never coloured")
}
