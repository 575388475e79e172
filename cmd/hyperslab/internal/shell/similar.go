// Objects whose paths resemble one that does not exist.

package shell

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/ndarray"
)

// A search for similar paths looks at mostSearched objects and suggests mostSimilar of them.
const (
	mostSearched = 10_000
	mostSimilar  = 3
)

// didYouMean returns a line that suggests objects with a path similar to that of location, or the
// field of an array if location is PATH.FIELD, or "" without such objects. The file is read as the
// command reads it: with --untrusted in a sandbox.
func (a *App) didYouMean(ctx context.Context, location string) string {
	loc, ok := existing(location)
	if !ok || strings.Trim(loc.Object, "/") == "" || ctx == nil || ctx.Err() != nil {
		return ""
	}
	want := "/" + strings.Trim(loc.Object, "/")
	var paths []string
	searched := 0
	for e, err := range a.Walk(ctx, loc.File, hyperslab.WalkOptions{NoSizes: true}) {
		if err != nil { // the error of the command matters, not that of the search
			break
		}
		if searched++; searched > mostSearched {
			break
		}
		paths = append(paths, e.Path)
		if part, ok := strings.CutPrefix(want, e.Path+"["); ok && !strings.Contains(part, "]") && e.Kind == hyperslab.Array {
			return "did you mean " + shellword.Quote(locate.Location{File: loc.File, Object: e.Path}.String()+"["+part+"]") + "?\n  "
		}
		if field, ok := strings.CutPrefix(want, e.Path+"."); ok && hasField(e.Meta.DType, field) {
			return "did you mean " + shellword.Quote(locate.Location{File: loc.File, Object: e.Path}.String()+"[...]."+field) + "?\n  "
		}
	}
	names := similar(want, paths)
	for _, p := range paths { // the brackets of a name were taken for a selection
		if strings.HasPrefix(p, want+"[") && !slices.Contains(names, p) {
			names = append(names[:min(len(names), mostSimilar-1)], p)
		}
	}
	if len(names) == 0 {
		return ""
	}
	for i, name := range names {
		names[i] = shellword.Quote(WholeObject(loc.File, name))
	}
	return "did you mean " + strings.Join(names, " or ") + "?\n  "
}

// WholeObject returns the address of an object. If its name ends like a selection, the selection of
// the whole object follows.
func WholeObject(file, object string) string {
	address := locate.Location{File: file, Object: object}.String()
	if _, selection := SplitSelection(address); selection != "" {
		address += "[...]"
	}
	return address
}

// hasField reports whether a structure has a field, which may be one of a nested structure.
func hasField(d ndarray.DType, field string) bool {
	first, rest, nested := strings.Cut(field, ".")
	i := slices.IndexFunc(d.Fields, func(f ndarray.Field) bool { return f.Name == first })
	return i >= 0 && (!nested || hasField(d.Fields[i].Type, rest))
}

// similar returns the paths most similar to want, the most similar first: those that differ in
// few letters, else those of the same name in other groups.
func similar(want string, paths []string) []string {
	type candidate struct {
		path     string
		distance int
	}
	var nearby, elsewhere []candidate
	folded, name := strings.ToLower(want), strings.ToLower(path.Base(want))
	most := min(max(len(name)/3, 1), 3)
	for _, p := range paths {
		lower := strings.ToLower(p)
		switch p {
		case want:
			return nil // it exists, and the error is another
		case "/":
			continue
		}
		// Lengths differ by at most the distance, which is cheaper to compare.
		if d := len(lower) - len(folded); d >= -most && d <= most {
			if d := editDistance(folded, lower); d <= most {
				nearby = append(nearby, candidate{p, d})
				continue
			}
		}
		if path.Base(lower) == name {
			elsewhere = append(elsewhere, candidate{p, len(p)})
		}
	}
	if len(nearby) == 0 {
		nearby = elsewhere
	}
	slices.SortFunc(nearby, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.path, b.path))
	})
	var names []string
	for _, c := range nearby[:min(len(nearby), mostSimilar)] {
		names = append(names, c.path)
	}
	return names
}

// editDistance is the least number of bytes to insert, delete or replace to turn a into b
// (Levenshtein's distance).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
