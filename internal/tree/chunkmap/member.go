// Frames of arrays, also in containers of python-blosc2.

package chunkmap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Member is the frame of an array in a container.
type Member struct {
	*stores.Frame
	Name     string // location, for messages
	At       int64  // offset of the frame in its file
	File     string // name of that file in a directory; "" for a container of one file
	Embedded bool   // in the compressed values of another frame
	close    func() error
}

func (m *Member) Close() error { return m.close() }

// MemberOf opens the frame of an array at a location. It returns nil for a location without a path,
// and for a file that is no container. A frame that has its own file or member is found without a
// library. An embedded one is decoded by C-Blosc2, and therefore not for an untrusted file.
func MemberOf(location string, untrusted bool) (_ *Member, err error) {
	loc, err := locate.Parse(location)
	if err != nil || strings.Trim(loc.Object, "/") == "" {
		return nil, err
	}
	format, err := opened.Sniff(loc.File)
	if err != nil || !detect.IsStore(format) {
		return nil, nil // the reader of the format returns the reason
	}
	if urlfile.IsURL(loc.File) {
		return memberOfURL(loc, format, untrusted)
	}
	key := "/" + strings.Trim(loc.Object, "/")
	switch format {
	case detect.B2Z:
		f, info, err := regularfile.Open(loc.File)
		if err != nil {
			return nil, err
		}
		members, err := b2store.ReadZip(f, info.Size(), b2store.Limits{})
		if err != nil {
			return nil, errors.Join(ndarray.Wrap("open", loc.File, errs.Mark(err, ndarray.ErrCorrupt)), f.Close())
		}
		if m, ok := memberAt(members, key); ok {
			part := io.NewSectionReader(f, m.Offset, m.Size)
			return &Member{Frame: &stores.Frame{ReaderAt: part, Size: m.Size}, Name: loc.String(), At: m.Offset, close: f.Close}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	case detect.B2D:
		root, err := regularfile.OpenRoot(loc.File)
		if err != nil {
			return nil, err
		}
		members, err := b2store.ReadDir(root.FS(), b2store.Limits{})
		if err != nil {
			err = errs.Mark(err, ndarray.ErrCorrupt)
		}
		if err = errors.Join(err, root.Close()); err != nil {
			return nil, ndarray.Wrap("open", loc.File, err)
		}
		if m, ok := memberAt(members, key); ok {
			f, err := stores.OpenFrame(filepath.Join(loc.File, filepath.FromSlash(m.Name)))
			if err != nil {
				return nil, err
			}
			return &Member{Frame: f, Name: loc.String(), File: m.Name, close: f.Close}, nil
		}
	}
	if untrusted {
		return nil, fmt.Errorf("%w: %s is not a file of the container: its frame is embedded or it is a column, and only a worker "+
			"decodes the values of an untrusted file", errors.ErrUnsupported, loc)
	}
	f, err := FrameOf(loc, format)
	return embeddedMember(f, loc.String(), err)
}

// embeddedMember returns the result of frameOf as the frame of an array in a container.
func embeddedMember(f *Frame, name string, err error) (*Member, error) {
	if err != nil {
		return nil, ndarray.Wrap("open", name, err)
	}
	if f == nil {
		return nil, fmt.Errorf("%w: %s is a column of a table, whose rows are in several frames without a common grid of chunks",
			errors.ErrUnsupported, name)
	}
	return &Member{Frame: f.Frame, Name: name, Embedded: true, close: f.Close}, nil
}

// memberOfURL is memberOf for a container at a URL, which is one file.
func memberOfURL(loc locate.Location, format string, untrusted bool) (_ *Member, err error) {
	name := locate.Location{File: urlfile.Redact(loc.File), Object: loc.Object}.String()
	if untrusted {
		return nil, fmt.Errorf("%w: an untrusted file at a URL, %s: copy the file first", errors.ErrUnsupported, name)
	}
	o, err := urlfile.Get().Open(context.Background(), loc.File)
	if err != nil {
		return nil, err
	}
	if format == detect.B2Z {
		members, err := b2store.ReadZip(o, o.Size(), b2store.Limits{})
		if err != nil {
			return nil, errors.Join(ndarray.Wrap("open", name, errs.Mark(err, ndarray.ErrCorrupt)), o.Close())
		}
		if m, ok := memberAt(members, "/"+strings.Trim(loc.Object, "/")); ok {
			part := io.NewSectionReader(o, m.Offset, m.Size)
			return &Member{Frame: &stores.Frame{ReaderAt: part, Size: m.Size}, Name: name, At: m.Offset, close: o.Close}, nil
		}
	}
	s, err := stores.OpenReaderAt(o, o.Size(), format, stores.Options{})
	if err != nil {
		return nil, ndarray.Wrap("open", name, err)
	}
	f, err := frameIn(s, loc)
	return embeddedMember(f, name, err)
}

// memberAt returns the file of a key.
func memberAt(members []b2store.Member, key string) (b2store.Member, bool) {
	for _, m := range members {
		if k, known := b2store.KeyOf(m.Name); known && k == key {
			return m, true
		}
	}
	return b2store.Member{}, false
}

// Frame is a frame, and the container that it is in.
type Frame struct {
	*stores.Frame
	store *stores.Store // nil: none
}

func (f *Frame) Close() error {
	err := f.Frame.Close()
	if f.store != nil {
		err = errors.Join(err, f.store.Close())
	}
	return err
}

// isFrame reports whether arrays of a format are single frames.
func isFrame(format string) bool {
	return format == detect.B2ND || format == detect.Caterva
}

// FrameOf opens the frame of an array. It returns nil for an array that is not one frame.
func FrameOf(l locate.Location, format string) (_ *Frame, err error) {
	if !detect.IsStore(format) {
		if info, err := os.Stat(l.File); err != nil || !isFrame(format) || !info.Mode().IsRegular() {
			return nil, err
		}
		f, err := stores.OpenFrame(l.File)
		return &Frame{Frame: f}, err
	}
	s, err := stores.Open(l.File, format, stores.Options{})
	if err != nil {
		return nil, err
	}
	return frameIn(s, l)
}

// frameIn is frameOf in an open container, which it closes unless it returns a frame.
func frameIn(s *stores.Store, l locate.Location) (_ *Frame, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	key := "/" + strings.Trim(l.Object, "/")
	if _, group := s.Members(key); group {
		return nil, fmt.Errorf("%w: %s is a group; name an array in it", ndarray.ErrParam, l)
	}
	x, err := s.Object(key)
	if err != nil {
		return nil, err
	}
	if x.Table != nil {
		return nil, s.Close()
	}
	f, err := s.Frame(x)
	return &Frame{f, s}, err
}
