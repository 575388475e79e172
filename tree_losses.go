// The parts of a source that CopyTree cannot copy.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// losses are the statistics of a copy, with the parts of the source that the target cannot
// represent.
type losses struct {
	options *TreeOptions
	stats   TreeStats
	refused []Problem // losses that are not accepted
	without []string  // paths of the source that are left out
	closed  []string  // the groups among them that the target cannot represent
}

// loseObject records an object that the target cannot represent. All objects in it and links to it
// are lost too.
func (l *losses) loseObject(path string, kind EntryKind, err error) {
	l.lose(path, string(kind), err)
	l.without = append(l.without, path)
	if kind == Group {
		l.closed = append(l.closed, path)
	}
}

// lose records a part that the target cannot represent.
func (l *losses) lose(path, what string, err error) {
	p := Problem{Path: path, What: what, Err: tree.WithoutPath(err)}
	if l.options.Accept != nil && l.options.Accept(p) {
		l.stats.Lost = append(l.stats.Lost, p)
	} else {
		l.refused = append(l.refused, p)
	}
}

// unreadable records an object that cannot be read.
func (l *losses) unreadable(path, what string, err error) {
	if !l.options.SkipUnreadable {
		l.loseObject(path, EntryKind(what), err)
		return
	}
	l.unreadablePart(path, what, err)
	l.without = append(l.without, path)
}

// unreadablePart records a part of an object that cannot be read. The object itself is copied.
func (l *losses) unreadablePart(path, what string, err error) {
	l.stats.Unreadable = append(l.stats.Unreadable, Problem{Path: path, What: what, Err: tree.WithoutPath(err)})
}

// report records a change that needs no acceptance.
func (l *losses) report(path, what, value, reason string) {
	p := Problem{Path: path, What: fmt.Sprintf("%s (%s)", what, value), Err: errs.Mark(errors.New(reason), errors.ErrUnsupported)}
	l.stats.Changes = append(l.stats.Changes, p)
}

// skips reports whether the object that caused an error is left out.
func (l *losses) skips(ctx context.Context, err error) bool {
	return l.options.SkipUnreadable && tree.Unreadable(err) && ctx.Err() == nil
}

// leftOut reports whether a path, or a group that contains it, is left out.
func (l *losses) leftOut(path string) bool {
	return slices.ContainsFunc(l.without, func(x string) bool { return path == x || strings.HasPrefix(path, x+"/") })
}

// closedGroup returns the group around a path that the target cannot represent.
func (l *losses) closedGroup(path string) (group string, ok bool) {
	i := slices.IndexFunc(l.closed, func(group string) bool { return strings.HasPrefix(path, group+"/") })
	if i < 0 {
		return "", false
	}
	return l.closed[i], true
}

// unsupportedIn returns the error for an object or a link that a format cannot store.
func (e *Entry) unsupportedIn(f Format) error {
	return fmt.Errorf("%w: %s in format %s", errors.ErrUnsupported, e.form(), f)
}

// form describes the entry in a refusal. It is not empty.
func (e *Entry) form() string {
	text := func(first, rest string) string { return strings.TrimSpace(first + " " + rest) }
	switch {
	case e.Err != nil && e.Err.Error() != "":
		return e.Err.Error()
	case e.Kind == Link && e.Target != "":
		return text(e.LinkKind, "link to "+e.Target)
	case e.Kind == Link:
		return text(e.LinkKind, "link")
	case e.Kind == Type:
		return text("the committed datatype", e.Type)
	case e.Kind == Other:
		return text("a file or an object that is no array", e.Type)
	case e.Type == "":
		return fmt.Sprintf("%v without a datatype", e.Kind)
	}
	return e.Type
}
