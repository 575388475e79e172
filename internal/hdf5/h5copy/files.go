// Names of other files: sources of virtual datasets, external files, targets of external links.

package h5copy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
)

// naming is the notation of the names of other files.
type naming struct {
	escape func(name string) string // converts a plain name
	exists func(name string) bool   // reports whether there is a file of that name
}

var (
	// plain is the notation of external files and of links.
	plain = naming{func(name string) string { return name }, regularfile.Exists}
	// pattern is the notation of sources of virtual datasets, in which %b stands for any number and
	// %% for a percent sign.
	pattern = naming{strings.NewReplacer("%", "%%").Replace, matches}
)

// moved returns the name of another file for use in the new file, and whether the other file
// exists. The name in the source is relative to the source's directory, or to the working directory
// if the file is not there. libhdf5 searches in the same order.
func (c *Copier) moved(name string, n naming) (string, bool) {
	if filepath.IsAbs(name) {
		return name, n.exists(name)
	}
	dir, err := directory(c.src.Path())
	if err != nil {
		return name, false
	}
	target, dir := n.escape(c.o.Directory), n.escape(dir)
	at := filepath.Join(dir, name)
	if !n.exists(at) {
		if !n.exists(name) {
			return name, false
		}
		wd, err := os.Getwd()
		if err != nil {
			return name, false
		}
		at = filepath.Join(n.escape(wd), name)
	}
	if target == "" || target == dir {
		return name, true
	}
	rel, err := filepath.Rel(target, at)
	if err != nil {
		return at, true
	}
	return rel, true
}

// directory returns the directory of a file, without symbolic links.
func directory(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	return filepath.Dir(real), nil
}

// matches reports whether a file exists whose name the pattern describes.
func matches(name string) bool {
	if one, ok := h5parts.Literal(name); ok {
		return regularfile.Exists(one)
	}
	quoted := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "%%", "%", "%b", "*").Replace(name)
	found, err := filepath.Glob(quoted)
	return err == nil && len(found) > 0
}

// files puts the new names of other files into the description of a dataset. It returns true if a
// name has changed, because H5Ocopy would keep the old one.
func (c *Copier) files(info *h5.DatasetInfo, path string) (changed bool) {
	missing := func(what, name string) {
		if !c.o.AllowMissing {
			c.problem(Missing, path, what, fmt.Errorf("%w: file %q", h5.ErrNotFound, name))
		}
	}
	reported := map[string]bool{}
	before := info.Mappings
	info.Mappings = slices.Clone(info.Mappings)
	for i := range info.Mappings {
		m := &info.Mappings[i]
		if m.File == "." {
			if c.whole || c.same() || c.o.Directory == "" {
				continue
			}
			m.File = pattern.escape(filepath.Base(c.src.Path())) // the source may not be part of the copy
		}
		name, there := c.moved(m.File, pattern)
		if !there && !reported[m.File] && c.o.Directory != "" {
			reported[m.File] = true
			missing("source of a virtual dataset", m.File)
		}
		if name == before[i].File {
			continue
		}
		if m.Irregular {
			c.problem(Missing, path, "source of a virtual dataset", fmt.Errorf("the name of the file %q cannot be changed in a mapping that is not a hyperslab", m.File))
			continue
		}
		m.File, changed = name, true
	}
	info.External = slices.Clone(info.External)
	for i := range info.External {
		x := &info.External[i]
		if at := x.Name; filepath.IsAbs(at) || c.o.ExternalDir == "" {
			if regularfile.Exists(at) { // libhdf5 looks in the working directory only
				continue
			}
		} else if regularfile.Exists(filepath.Join(c.o.ExternalDir, at)) {
			continue
		}
		name, there := c.moved(x.Name, plain)
		if !there && c.o.Directory != "" {
			missing("external file", x.Name)
		}
		if name != x.Name {
			x.Name, changed = name, true
		}
	}
	return changed
}
