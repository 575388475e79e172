// Sources of commands that take many files: names, patterns, lists and directories.

package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// Source is one of many sources of a command.
type Source struct {
	Name string // address of a file, which a path inside and a selection may follow
	Rel  string // path of the file below the directory that the user named
	Err  error  // the file or directory cannot be read
}

// isPattern reports whether a name has wildcards.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// splitPattern splits a name into the pattern of files and the path and selection that follow it.
func splitPattern(name string) (files, rest string) {
	location, _ := SplitSelection(name)
	files = location
	if at := strings.LastIndex(location, ":/"); at >= 0 {
		files = location[:at]
	}
	return files, name[len(files):]
}

// expandable reports whether a name that is no file is a pattern of files.
func expandable(name string) bool {
	if remote.IsURL(name) || !isPattern(name) {
		return false
	}
	files, _ := splitPattern(name)
	for _, file := range []string{name, files} { // names of files can have brackets
		if _, err := os.Lstat(file); err == nil {
			return false
		}
	}
	if strings.ContainsAny(files, "*?") {
		_, err := filepath.Match(files, "")
		return err == nil // an error is for example a selection without its last bracket
	}
	for _, pattern := range []string{name, files} { // the brackets at the end can be a part of the pattern
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// fixed returns the directories of a pattern before the first wildcard.
func fixed(pattern string) string {
	dir, _ := filepath.Split(pattern[:strings.IndexAny(pattern, "*?[")])
	return filepath.Clean(dir)
}

// expand calls visit for the files that a pattern matches, with the path and selection that follow
// it. In a pattern, ** stands for any number of directories.
func expand(ctx context.Context, name string, visit func(s Source) error) error {
	files, rest := name, ""
	found, err := matches(ctx, files)
	if err == nil && len(found) == 0 {
		if files, rest = splitPattern(name); isPattern(files) {
			found, err = matches(ctx, files)
		}
	}
	switch {
	case err != nil:
		return Usagef("%s: %w", name, err)
	case len(found) == 0:
		return Usagef("%s matches no file", name)
	}
	base := fixed(files)
	for _, s := range found {
		if s.Rel, err = filepath.Rel(base, s.Name); err != nil {
			return err
		}
		s.Name += rest
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

// matches returns the files that a pattern matches, in the order of names. A directory that cannot
// be read is an entry with an error.
func matches(ctx context.Context, pattern string) (list []Source, err error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	if !strings.Contains(pattern, "**") {
		found, err := filepath.Glob(pattern)
		for _, name := range found {
			list = append(list, Source{Name: name})
		}
		return list, err
	}
	m := matcher{ctx: ctx, seen: map[string]bool{}}
	names := strings.Split(filepath.ToSlash(filepath.Clean(pattern)), "/")
	dir := ""
	if names[0] == "" {
		dir, names = "/", names[1:]
	}
	err = m.match(dir, names)
	slices.SortFunc(m.found, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return m.found, err
}

// matcher collects the files that a pattern with ** matches.
type matcher struct {
	ctx   context.Context
	seen  map[string]bool
	found []Source
}

func (m *matcher) add(name string, err error) {
	if !m.seen[name] {
		m.seen[name] = true
		m.found = append(m.found, Source{Name: name, Err: err})
	}
}

// match adds the files below dir that the names of a pattern match. It does not follow links to
// directories for **, which also skips directories whose names begin with a dot.
func (m *matcher) match(dir string, names []string) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	first, rest := names[0], names[1:]
	if first != "**" && !isPattern(first) {
		name := filepath.Join(dir, first)
		switch _, err := os.Lstat(name); {
		case err != nil:
			return nil
		case len(rest) == 0:
			m.add(name, nil)
			return nil
		}
		return m.match(name, rest)
	}
	if first == "**" && len(rest) > 0 {
		if err := m.match(dir, rest); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(filepath.Clean(dir)) // "." for an empty name
	if errors.Is(err, fs.ErrPermission) {
		m.add(filepath.Clean(dir), err)
	} // any other error: it is no directory
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch matched, _ := filepath.Match(first, e.Name()); {
		case first == "**" && e.IsDir() && !strings.HasPrefix(e.Name(), "."):
			if err := m.match(name, names); err != nil {
				return err
			}
		case first == "**" && len(rest) > 0, !matched:
		case len(rest) == 0:
			m.add(name, nil)
		default:
			if err := m.match(name, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// tree finds the files of a directory and its subdirectories.
type tree struct {
	*App
	ctx   context.Context
	root  string
	skip  fs.FileInfo // directory of the targets, which is left out; nil: it does not exist
	found func(s Source) error
	count int
	other int // files of other formats
}

// isTarget reports whether a directory is that of the targets.
func (t *tree) isTarget(d fs.DirEntry) bool {
	info, err := d.Info()
	return err == nil && t.skip != nil && os.SameFile(info, t.skip)
}

// visit is the function of filepath.WalkDir.
func (t *tree) visit(name string, d fs.DirEntry, err error) error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if name == t.root && err == nil {
		return nil
	}
	if err != nil {
		return t.add(name, err)
	}
	mode := d.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(name)
		switch {
		case err != nil: // also a loop of links
			return t.add(name, err)
		case info.IsDir():
			t.Note("%s is a link to a directory, which -r does not follow", term.Safe(name))
			return nil
		}
		mode = info.Mode().Type()
	}
	switch base := d.Name(); {
	case mode.IsDir() && t.isTarget(d):
		t.Note("%s is the directory of the targets and is left out", term.Safe(name))
		return fs.SkipDir
	case base == detect.DoneFile, strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-"): // of a killed writer
		return nil
	case !mode.IsDir() && !mode.IsRegular():
		t.other++
		return nil
	}
	is, err := detect.Content(name)
	switch {
	case mode.IsDir() && (errors.Is(err, ndarray.ErrFormat) || is == detect.Directory):
		return nil
	case errors.Is(err, ndarray.ErrFormat) && !NamedArray(name):
		t.other++
		err = nil
	case errors.Is(err, ndarray.ErrFormat): // a corrupt file
		err = t.add(name, nil)
	default:
		err = t.add(name, err)
	}
	if err == nil && mode.IsDir() {
		err = fs.SkipDir
	}
	return err
}

// NamedArray reports whether the extension of a name is that of a format.
func NamedArray(name string) bool {
	_, known := NamedFormat(name)
	return known
}

func (t *tree) add(name string, err error) error {
	rel, relErr := filepath.Rel(t.root, name)
	t.count++
	return t.found(Source{Name: name, Rel: rel, Err: errors.Join(err, relErr)})
}

// FilesIn calls visit for the arrays and the files with arrays of a directory and its
// subdirectories, except in the directory targets, "" for none.
func (a *App) FilesIn(ctx context.Context, dir, targets string, visit func(s Source) error) error {
	t := tree{App: a, ctx: ctx, root: filepath.Clean(dir), found: visit}
	if targets != "" {
		t.skip, _ = os.Stat(targets) // it may be missing
	}
	if info, err := os.Stat(dir); err == nil && t.skip != nil && os.SameFile(info, t.skip) {
		return Usagef("%s is also the directory of the targets", dir)
	}
	if err := filepath.WalkDir(t.root, t.visit); err != nil {
		return err
	}
	if t.other > 0 {
		a.Note("%s: %s of other formats left out", term.Safe(dir), term.Plural(int64(t.other), "file"))
	}
	if t.count == 0 {
		return Usagef("%s contains no arrays", dir)
	}
	return nil
}

// placeNamed sets the relative paths of the sources that were named one by one: the path below the
// deepest directory that contains all of them. Objects at URLs keep only their names.
func placeNamed(all []Source) error {
	const slash = string(filepath.Separator)
	common := ""
	dirs := make([]string, len(all))
	for at := range all {
		file := fileOf(all[at].Name)
		if remote.IsURL(file) {
			all[at].Rel = filepath.Base(file)
			continue
		}
		var err error
		if dirs[at], err = filepath.Abs(filepath.Dir(filepath.Clean(file))); err != nil {
			return err
		}
		if common == "" {
			common = dirs[at]
		}
		for common != dirs[at] && !strings.HasPrefix(dirs[at], strings.TrimSuffix(common, slash)+slash) {
			common = filepath.Dir(common)
		}
	}
	for at := range all {
		if dirs[at] == "" {
			continue
		}
		rel, err := filepath.Rel(common, dirs[at])
		if err != nil {
			return err
		}
		all[at].Rel = filepath.Join(rel, filepath.Base(fileOf(all[at].Name)))
	}
	return nil
}

// fileOf returns the file of an address.
func fileOf(address string) string {
	location, _ := SplitSelection(address)
	if loc, err := locate.Parse(location); err == nil {
		return loc.File
	}
	return address
}

// conflict is a target of two sources, or one inside of another one.
func conflict(target, a, b string) error {
	return Usagef("%s and %s have the same target %s; name a directory above both (-r), or write them to different directories",
		a, b, target)
}

// listProblems joins the first problems of a list.
func listProblems(problems []error) error {
	const most = 10
	lines := make([]string, 0, most)
	for _, err := range problems[:min(len(problems), most)] {
		lines = append(lines, err.Error())
	}
	if more := len(problems) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w%s", &joined{problems[0], lines[0]}, strings.Join(append([]string{""}, lines[1:]...), "\n  "))
}

// joined has the text of the first of several errors.
type joined struct {
	error
	text string
}

func (j *joined) Error() string { return j.text }
func (j *joined) Unwrap() error { return j.error }
