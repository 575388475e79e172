// The links that a path leads through.

package h5copy

import (
	"errors"
	"path"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
)

// mostSoftLinks is the maximum number of soft links in a path, as in libhdf5 (H5L_NUM_LINKS).
const mostSoftLinks = 16

// place is a link: its name and the address of its group.
type place struct {
	group uint64
	name  string
}

// Needs reports whether the object at a path is reached through a link, so that the path leads
// nowhere if that link is removed. Hard links to the same object under other names do not count.
// Links of other files do not count either.
func Needs(root *h5.Group, object, link string) (bool, error) {
	link = path.Clean("/" + link)
	if link == "/" {
		return true, nil
	}
	group, err := root.ObjectInfo(path.Dir(link))
	if errors.Is(err, h5.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all, err := route(root, object, mostSoftLinks)
	return all[place{group.Address, path.Base(link)}], err
}

// route returns the links that a path leads through, as far as it leads to objects of the file.
func route(root *h5.Group, object string, most int) (map[place]bool, error) {
	all := map[place]bool{}
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(path.Clean("/"+object), "/"), "/") {
		if name == "" {
			return all, nil
		}
		group, err := root.ObjectInfo(at)
		if err != nil {
			return all, ignoreMissing(err)
		}
		all[place{group.Address, name}] = true
		next := path.Join(at, name)
		link, err := root.Link(next)
		if err != nil || link.Kind == h5.ExternalLink {
			return all, ignoreMissing(err)
		}
		if link.Kind == h5.SoftLink && most > 0 {
			target := link.Target
			if !path.IsAbs(target) {
				target = path.Join(at, target)
			}
			more, err := route(root, target, most-1)
			if err != nil {
				return all, err
			}
			for p := range more {
				all[p] = true
			}
		}
		at = next
	}
	return all, nil
}

// ignoreMissing returns nil for h5.ErrNotFound.
func ignoreMissing(err error) error {
	if errors.Is(err, h5.ErrNotFound) {
		return nil
	}
	return err
}
