// The directory of a tree that is written: files appear in it whole.

package bcolz

import (
	"errors"
	"os"
	"path"
)

// store is the directory of a carray or ctable.
type store struct {
	root    *os.Root
	durable bool // others may open the tree: a file is on the disk before it has its name
}

// replace puts a file in its place at once.
func (s store) replace(name string, content []byte) (err error) {
	tmp := path.Join(path.Dir(name), ".tmp-"+path.Base(name))
	f, err := s.root.Create(tmp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.Remove(tmp))
		}
	}()
	_, err = f.Write(content)
	if err == nil && s.durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = s.root.Rename(tmp, name); err != nil || !s.durable {
		return err
	}
	return s.syncDir(path.Dir(name))
}

func (s store) syncDir(name string) error {
	d, err := s.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
