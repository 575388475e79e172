package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPowerShellScript checks the completion script without running it, because PowerShell has no
// Debian package. Each quote, brace and bracket must be closed, and the script must end with a
// top-level call that registers the completion of hyperslab.
func TestPowerShellScript(t *testing.T) {
	script, stderr, code := run("completion", "powershell")
	require.Zero(t, code, stderr)
	rest, depth := unquoted(t, script)
	require.Zero(t, depth)
	require.Regexp(t, `\nRegister-ArgumentCompleter -CommandName  -ScriptBlock \$\{\}\s*$`, rest)
	for _, broken := range []string{script[:len(script)/2], script + "}", script + `"`, "'" + script} {
		_, depth := unquoted(t, broken)
		require.NotZero(t, depth)
	}
}

// unquoted returns the part of a script outside strings, comments and brackets. depth is the number
// of brackets and strings that are open at the end or closed too often.
func unquoted(t *testing.T, script string) (top string, depth int) {
	t.Helper()
	var open []rune
	closes := map[rune]rune{'{': '}', '(': ')', '[': ']'}
	quote, comment, escaped := rune(0), false, false
	for _, c := range script {
		switch {
		case escaped:
			escaped = false
		case comment:
			comment = c != '\n'
		case c == '`' && quote != '\'': // escapes the next character, except in a single-quoted string
			escaped = true
		case quote != 0: // a doubled quote ends one string and starts the next
			if c == quote {
				quote = 0
			}
			continue
		case c == '\'' || c == '"':
			quote = c
		case c == '#':
			comment = true
		case closes[c] != 0:
			if len(open) == 0 {
				top += string(c)
			}
			open = append(open, closes[c])
		case c == '}' || c == ')' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return top, -1
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				top += string(c)
			}
		case len(open) == 0:
			top += string(c)
		}
	}
	if quote != 0 {
		depth++
	}
	return top, depth + len(open)
}
