// The content of a directory at any moment of a recording, with or without unsynced changes.

package crashtest

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Disk is the content of a directory before a recording.
type Disk struct {
	files map[string][]byte
	dirs  map[string]bool
}

// Snapshot reads the content of a directory.
func Snapshot(dir string) (*Disk, error) {
	d := &Disk{files: map[string][]byte{}, dirs: map[string]bool{}}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			d.dirs[rel] = true
			return nil
		}
		b, err := os.ReadFile(p)
		d.files[rel] = b
		return err
	})
	return d, err
}

// inode is the content of a file, independent of its names.
type inode struct{ b []byte }

// Loss selects the events that a power failure loses. A nil Loss loses no event.
type Loss interface {
	// Write reports whether the i-th event, an unsynced write or truncation, is lost.
	Write(i int) bool
	// Names returns how many of the n newest unsynced changes of names are lost.
	Names(n int) int
}

// Restore writes the state after the first n events to an empty directory. With a Loss, unsynced
// changes may be missing: any of the writes, and the newest of the changes of names.
func (d *Disk) Restore(dir string, events []Event, n int, loss Loss) error {
	files := map[string]*inode{}
	for name, b := range d.files {
		files[name] = &inode{append([]byte(nil), b...)}
	}
	dirs := map[string]bool{}
	for name := range d.dirs {
		dirs[name] = true
	}
	lost, err := lostOf(files, events[:n], loss)
	if err != nil {
		return err
	}
	if err := apply(files, dirs, events[:n], lost); err != nil {
		return err
	}
	for name := range dirs {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	for name, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), f.b, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// lostOf reports for each event whether it is lost.
func lostOf(files map[string]*inode, events []Event, loss Loss) ([]bool, error) {
	lost := make([]bool, len(events))
	if loss == nil {
		return lost, nil
	}
	// The file of each event, found by its name at that time.
	at := map[string]int{}
	next := 0
	for name := range files {
		next++
		at[name] = next
	}
	file := make([]int, len(events))
	for i, e := range events {
		switch e.Kind {
		case Create:
			if at[e.Path] == 0 {
				next++
				at[e.Path] = next
			}
		case Rename:
			move(at, e)
		case Remove:
			delete(at, e.Path)
		}
		file[i] = at[e.Path]
	}
	var names []int // indexes of changes of names, in order
	for i, e := range events {
		switch e.Kind {
		case Write, Truncate:
			synced := false
			for k := i + 1; k < len(events); k++ {
				synced = synced || events[k].Kind == Sync && file[k] != 0 && file[k] == file[i]
			}
			lost[i] = !synced && loss.Write(i)
		case Create, Mkdir, Rename, Remove:
			names = append(names, i)
		}
	}
	// Names reach the disk in their order: a synced change includes all changes before it.
	first := 0
	for k, i := range names {
		for s := i + 1; s < len(events); s++ {
			e := events[s]
			if e.Kind == Sync && file[s] == 0 && (e.Path == path.Dir(events[i].Path) || e.Path == path.Dir(events[i].To)) {
				first = k + 1
			}
		}
	}
	drop := loss.Names(len(names) - first)
	for _, i := range names[len(names)-drop:] {
		lost[i] = true
	}
	return lost, nil
}

// move applies a rename to a map with names as keys, including all names below a directory.
func move[T any](m map[string]T, e Event) {
	moved := map[string]T{}
	take := func(from, to string) {
		for name, x := range m {
			if rest, ok := strings.CutPrefix(name, from); ok && (rest == "" || rest[0] == '/') {
				moved[to+rest] = x
				delete(m, name)
			}
		}
	}
	take(e.Path, e.To)
	if e.Swap {
		take(e.To, e.Path)
	} else {
		for name := range m {
			if name == e.To {
				delete(m, name)
			}
		}
	}
	for name, x := range moved {
		m[name] = x
	}
}

// apply applies the events that are not lost. A write into a file whose creation was lost goes to
// an inode without a name.
func apply(files map[string]*inode, dirs map[string]bool, events []Event, lost []bool) error {
	seen := map[string]*inode{} // as the program saw it
	for name, f := range files {
		seen[name] = f
	}
	for i, e := range events {
		switch e.Kind {
		case Write, Truncate:
			f := seen[e.Path]
			if f == nil {
				return fmt.Errorf("event %d, %v: no such file", i, e)
			}
			if lost[i] {
				continue
			}
			end := e.Offset + int64(len(e.Data))
			if int64(len(f.b)) < end {
				f.b = append(f.b, make([]byte, end-int64(len(f.b)))...)
			}
			if e.Kind == Truncate {
				f.b = f.b[:e.Offset]
			}
			copy(f.b[e.Offset:], e.Data)
		case Create:
			if seen[e.Path] == nil {
				seen[e.Path] = &inode{}
			}
			if !lost[i] {
				files[e.Path] = seen[e.Path]
			}
		case Mkdir:
			if !lost[i] {
				dirs[e.Path] = true
			}
		case Rename:
			move(seen, e)
			if !lost[i] {
				move(files, e)
				move(dirs, e)
			}
		case Remove:
			delete(seen, e.Path)
			if !lost[i] {
				delete(files, e.Path)
				delete(dirs, e.Path)
			}
		}
	}
	return nil
}
