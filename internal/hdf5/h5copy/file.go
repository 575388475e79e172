// New files with the creation properties of another file.

package h5copy

import (
	"errors"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/h5"
)

// Create creates a file with the creation properties of src: user block, shared messages, creation
// order of the root group and the other fields of h5.FileCreation. Its objects may use the formats
// of src's superblock. The caller should call CopyUserBlock after closing the file.
func Create(path string, src *h5.File) (*h5.File, error) {
	creation, err := src.Creation()
	if err != nil {
		return nil, err
	}
	attrs, err := listAttributes(src.Root())
	if err != nil && !errors.Is(err, errors.ErrUnsupported) { // the Copier reports an unknown type
		return nil, err
	}
	return createIn(path, src, &creation, attrs)
}

// CreateLike creates a file whose root group has the creation properties of g, but does not record
// times. The file has the oldest possible format, and all other properties are libhdf5's defaults.
func CreateLike(path string, g *h5.Group) (*h5.File, error) {
	info, err := g.Info()
	if err != nil {
		return nil, err
	}
	attrs, err := listAttributes(g)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) { // the Copier reports an unknown type
		return nil, err
	}
	creation, like := h5.DefaultFileCreation(), groupOptions(info)
	creation.Times, creation.LinkOrder, creation.AttrOrder = false, like.Order, like.AttributeOrder
	if like.Phase != nil {
		creation.LinkPhase = *like.Phase
	}
	if like.AttributePhase != nil {
		creation.AttrPhase = *like.AttributePhase
	}
	return CreateFile(path, h5.CreateOptions{Creation: &creation}, attributes{list: attrs}.dense())
}

// CreatePlain creates a file with default creation properties, whose objects may use the formats of
// src's superblock.
func CreatePlain(path string, src *h5.File) (*h5.File, error) {
	return createIn(path, src, nil, nil)
}

func createIn(path string, src *h5.File, creation *h5.FileCreation, attrs []h5.AttributeInfo) (*h5.File, error) {
	facts, err := src.Facts()
	if err != nil {
		return nil, err
	}
	o := h5.CreateOptions{Creation: creation}
	switch {
	case facts.Superblock >= 3:
		o.Low = h5.V110
	case facts.Superblock == 2:
		o.Low = h5.V18
	}
	return CreateFile(path, o, attributes{list: attrs}.dense())
}

// CopyUserBlock copies the first n bytes of a file, its user block, to another file that has space
// for them.
func CopyUserBlock(to, from string, n int64) (err error) {
	if n == 0 {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.CopyN(out, in, n)
	return err
}
