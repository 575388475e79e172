// What groups and datasets have in common: an owner, a place, a path.

package h5

import (
	"fmt"
	"path"
)

// An object is what Group and Dataset are made of.
type object struct {
	h    *handle
	file *File // keeps the file open while a child is in use
	path string
}

// Path is the absolute path the object was opened by.
func (o *object) Path() string { return o.path }

// File is the file the object was opened through.
func (o *object) File() *File { return o.file }

// Close ends the use of the object. What was opened through it stays open. A
// second call is ErrClosed.
func (o *object) Close() error {
	if o.h == o.file.h {
		return nil // the root group is the file's
	}
	lock()
	defer unlock()
	return o.h.closeLocked("close", o.path)
}

// join is the path of a name below the object.
func (o *object) join(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(o.path, name)
}

// writable is ErrReadOnly if the file was opened for reading.
func (o *object) writable(op, path string) error {
	if o.file.mode == ReadOnly {
		return &Error{Op: op, Path: path, Err: fmt.Errorf("%w: %s", ErrReadOnly, o.file.path)}
	}
	return nil
}
