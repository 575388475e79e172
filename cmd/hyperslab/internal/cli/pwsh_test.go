package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The script for PowerShell, of which there is no Debian package to type into: each
// quote, brace and bracket is closed where the shell would look for it, and a call that
// registers the completion of hyperslab stands at the end, outside of all of them.
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

// unquoted is what of a script is in no text, comment or bracket, and how many brackets
// and texts are open at its end, or closed too often.
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
		case c == '`' && quote != '\'': // escapes the next character, but in a plain text
			escaped = true
		case quote != 0: // a doubled quote closes one text and begins the next
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
