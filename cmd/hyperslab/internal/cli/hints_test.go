package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHints checks the hints, which are the last lines of error messages. If a hint begins with a
// command, that command must succeed. If a hint contains an option, the failed command must have
// it.
func TestHints(t *testing.T) {
	work := field(t)
	t.Chdir(work)
	require.NoError(t, os.Chmod("notes.txt", 0o644))
	makeHostile(t, work)
	require.NoError(t, os.Mkdir("other", 0o777))
	elsewhere(t, "other")
	require.NoError(t, os.Remove("other/source.h5"))
	command := regexp.MustCompile(`^hyperslab ((?:'[^']*'|[^' ])+(?: (?:'[^']*'|[^' ])+)*?) (?:shows|lists|writes|reports|alone|tells)\b`)
	inside := regexp.MustCompile(`\(hyperslab ([^)]*)\)`)
	meant := regexp.MustCompile(`^did you mean (.*)\?$`)
	option := regexp.MustCompile(`(?:^|[ (])(--?[a-z][a-z-]*)`)
	for _, line := range []string{
		"info missing.b2nd", "info tree.h5:/nope", "info tree.h5:/tima", "rm tree.h5:/TIME", "info tree.h5/time", "info notes.txt", "info empty.b2nd", "info cut.b2nd", "info waves.b2nd:/x",
		"info waves.b2nd[50]", "dump waves.b2nd[50]", "stats tree.h5:/names", "stats records.b2nd", "dump tree.h5", "plot records.b2nd",
		"convert waves.b2nd waves.h5", "convert waves.b2nd waves.h5:/waves", "convert waves.b2nd nodir/x.b2nd", "convert waves.b2nd waves.h5:/waves/x",
		"convert tree.h5 newdir", "convert cut.h5 newdir", "convert waves.b2nd x.zip", "convert waves.h5:/waves waves.h5 -f",
		"cp waves.b2nd changed.b2nd", "cp missing.h5:/x waves.h5:/y", "cp tree.h5:/time waves.h5:/waves", "cp tree.h5:/nope waves.h5:/y",
		"rm tree.h5:/nope", "rm tree.h5:/run1", "attr get waves.b2nd nope", "attr list waves.b2nd:/x", "append waves.b2nd scalar.b2nd",
		"verify missing.h5", "verify notes.txt", "verify waves.b2nd --format zarr", "repack tree.h5 waves.h5", "repack notes.txt x.h5", "diff waves.b2nd missing.b2nd",
		"diff waves.b2nd tree.h5", "explain notes.txt", "ls broken.h5:/nope", "ls notes.txt", "tree missing.h5", "chunks scalar.b2nd", "recover notes.txt x.b2nd",
		"dump other/a.h5:/v", "stats other/a.h5:/e", "plot other/a.h5:/v", "convert other/a.h5:/v new.b2nd", "plot waves.b2nd -o nodir/x.png", "plot waves.b2nd -o x.bmp", "dump half.h5:/x", "stats half.h5:/x", "convert half.h5:/x new.b2nd",
		"dump cut.h5:/ROSE", "bench notes.txt", "crosscheck emit waves.b2nd", "nosuch", "ls --nosuch", "convert -", "info -",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			_, stderr, code := run(args...)
			require.NotZero(t, code)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			for _, hint := range lines[1:] {
				hint = strings.TrimSpace(hint)
				for _, m := range inside.FindAllStringSubmatch(hint, -1) {
					_, stderr, code := run(hintWords(m[1])...)
					require.Zero(t, code, "%s: hint %q: %s", line, hint, stderr)
				}
				hint = inside.ReplaceAllString(hint, "")
				if m := meant.FindStringSubmatch(hint); m != nil {
					for address := range strings.SplitSeq(m[1], " or ") {
						_, stderr, code := run(append([]string{"info"}, hintWords(address)...)...)
						require.Zero(t, code, "%s: hint %q: %s", line, hint, stderr)
					}
					continue
				}
				if m := command.FindStringSubmatch(hint); m != nil {
					_, stderr, code := run(hintWords(m[1])...)
					require.Contains(t, []int{0, 1, 3}, code, "%s: hint %q: %s", line, hint, stderr)
					require.NotEqual(t, line, strings.Join(hintWords(m[1]), " "), "the hint is the command that failed")
					continue
				}
				if strings.HasPrefix(hint, "see ") {
					_, stderr, code := run(strings.Fields(strings.TrimPrefix(hint, "see hyperslab "))...)
					require.Zero(t, code, "%s: hint %q: %s", line, hint, stderr)
				} else if !strings.HasPrefix(hint, "hyperslab ") && len(lines) > 1 {
					help, _, _ := run(args[0], "--help")
					for _, m := range option.FindAllStringSubmatch(hint, -1) {
						require.True(t, regexp.MustCompile(`(?m)(^|[ ,])`+regexp.QuoteMeta(m[1])+`\b`).MatchString(help), "%s: hint %q", line, hint)
					}
				}
			}
		})
	}
}

// hintWords splits a command line into words and removes the quotes.
func hintWords(s string) (words []string) {
	for _, m := range regexp.MustCompile(`(?:'[^']*'|[^' ])+`).FindAllString(s, -1) {
		words = append(words, strings.ReplaceAll(m, "'", ""))
	}
	return words
}

// TestHints_similarObject checks that the hint for a path that does not exist contains similar
// paths.
func TestHints_similarObject(t *testing.T) {
	t.Chdir(field(t))
	done(t, "convert", "records.b2nd", "records.h5:/r", "-q")
	for args, want := range map[string]string{
		"info tree.h5:/tima":              "did you mean 'tree.h5:/time'?",
		"dump tree.h5:/run1/raw/count":    "did you mean 'tree.h5:/run1/raw/counts'?",
		"stats tree.h5:/counts":           "did you mean 'tree.h5:/run1/raw/counts'?",
		"info waves.h5:/wavs --untrusted": "did you mean 'waves.h5:/waves'?",
		"cp tree.h5:/tima new.h5:/x":      "did you mean 'tree.h5:/time'?",
		"info tree.h5:/nothing/like/this": "",
		"dump records.h5:/r.in.B":         "did you mean 'records.h5:/r[...].in.B'?",
		"dump records.h5:/r.in.C":         "",
	} {
		t.Run(args, func(t *testing.T) {
			_, stderr, code := run(strings.Fields(args)...)
			require.Equal(t, 2, code, stderr)
			if want == "" {
				require.NotContains(t, stderr, "did you mean")
			}
			require.Contains(t, stderr, want)
			require.Contains(t, stderr, ".h5 lists the objects of the file")
		})
	}
}

// TestHints_missingPart checks the hint for a tree without one of its files, which is corrupt.
func TestHints_missingPart(t *testing.T) {
	t.Chdir(field(t))
	done(t, "convert", "waves.h5:/waves", "sizes.bcolz", "-q")
	done(t, "convert", "waves.h5:/waves", "chunk.bcolz", "-q")
	require.NoError(t, os.Remove("sizes.bcolz/meta/sizes"))
	require.NoError(t, os.Remove("chunk.bcolz/data/__0.blp"))
	for _, args := range []string{"info sizes.bcolz", "info sizes.bcolz --untrusted", "dump chunk.bcolz", "dump chunk.bcolz --untrusted"} {
		t.Run(args, func(t *testing.T) {
			_, stderr, code := run(strings.Fields(args)...)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, "no such file")
			require.Contains(t, stderr, "the file is corrupt")
			require.Contains(t, stderr, "hyperslab verify "+strings.Fields(args)[1]+" reports where")
		})
	}
}

// TestHints_unknownCommand checks the suggestions for a command that does not exist.
func TestHints_unknownCommand(t *testing.T) {
	t.Chdir(field(t))
	for args, want := range map[string]string{
		"lss":          `no command "lss"; did you mean ls?`,
		"verfy":        "did you mean verify?",
		"cat":          "did you mean dump?",
		"help compare": "did you mean diff?",
		"attr lst":     "did you mean list?",
		"tree.h5:/x":   `no command "tree.h5:/x"; hyperslab ls tree.h5 lists it`,
		"mv":           "no command \"mv\"\n",
	} {
		t.Run(args, func(t *testing.T) {
			_, stderr, code := run(strings.Fields(args)...)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, want)
		})
	}
}
