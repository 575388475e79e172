package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Rate is the number of occurrences of words per 10,000 words, with its limit. In model projects
// some words are much rarer, because their sentences have a subject and use the terms of the field.
// Other words are more frequent, because their comments give reasons and examples.
type Rate struct {
	Kind    string // comments, strings or documents
	Words   string // a regular expression
	Value   float64
	Limit   float64
	AtLeast bool // Limit is a lower limit
}

// Met reports whether the rate is within its limit.
func (r Rate) Met() bool {
	if r.AtLeast {
		return r.Value >= r.Limit
	}
	return r.Value <= r.Limit
}

func (r Rate) String() string {
	limit := "at most"
	if r.AtLeast {
		limit = "at least"
	}
	return fmt.Sprintf("%s %.1f per 10,000 words, %s %g", r.Words, r.Value, limit, r.Limit)
}

var limits = []Rate{
	{Words: `what`, Limit: 12},
	{Words: `say|says|said`, Limit: 5},
	{Words: `nobody|nothing|none`, Limit: 8},
	{Words: `behind`, Limit: 2},
	{Words: `tell|tells|told`, Limit: 2},
	{Words: `anew|besides|but for|vouch\w*`, Limit: 1},
	{Words: `texts`, Limit: 1},
	{Words: `because|since`, Limit: 6, AtLeast: true},
	{Words: `must|should`, Limit: 20, AtLeast: true},
	{Words: `for example|e\.g\.`, Limit: 2, AtLeast: true},
}

// minWords is the size below which a rate has no meaning. Rates returns an error for it.
const minWords = 10_000

// Rates returns the rates in the comments of files, in their strings of at least four words, and in
// the documents below root. Tests, tables and program output are not counted. Lower limits apply to
// comments only.
func Rates(root string, files []File) ([]Rate, error) {
	documents, err := documentText(root)
	if err != nil {
		return nil, err
	}
	comments, messages, err := sourceText(files)
	if err != nil {
		return nil, err
	}
	var rates []Rate
	for _, part := range []struct{ kind, text string }{{"comments", comments}, {"strings", messages}, {"documents", documents}} {
		words := len(strings.Fields(part.text))
		if words < minWords {
			return nil, fmt.Errorf("%d words in %s, too few for a rate (minimum %d)", words, part.kind, minWords)
		}
		for _, r := range limits {
			if r.AtLeast && part.kind != "comments" {
				continue
			}
			found := regexp.MustCompile(`(?i)\b(`+r.Words+`)\b`).FindAllStringIndex(part.text, -1)
			r.Kind, r.Value = part.kind, 1e4*float64(len(found))/float64(words)
			rates = append(rates, r)
		}
	}
	return rates, nil
}

// sourceText returns the comments and the long strings of the files that are no tests.
func sourceText(files []File) (comments, messages string, err error) {
	var c, m strings.Builder
	for _, f := range files {
		if f.Test {
			continue
		}
		for _, group := range f.AST.Comments {
			c.WriteString(group.Text() + "\n")
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, bad := strconv.Unquote(lit.Value)
				if bad != nil {
					err = fmt.Errorf("%s: %w", f.Path, bad)
				}
				if len(strings.Fields(s)) >= 4 {
					m.WriteString(s + "\n")
				}
			}
			return true
		})
	}
	return c.String(), m.String(), err
}

// documentText returns the prose of the Markdown files below root.
func documentText(root string) (string, error) {
	var text strings.Builder
	fenced := regexp.MustCompile("(?s)```.*?```")
	fsys := os.DirFS(root)
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (ignored[p] || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && p != "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".md") || p == "CHANGELOG.md":
			return nil
		}
		b, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		for line := range strings.Lines(fenced.ReplaceAllString(string(b), "")) {
			if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "|") { // output and tables are excluded
				text.WriteString(line)
			}
		}
		return nil
	})
	return text.String(), err
}
