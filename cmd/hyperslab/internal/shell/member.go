// Frames of containers of python-blosc2, for commands that read frames without a library.

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// MemberFrame is the frame of an array in a container.
type MemberFrame struct {
	*stores.Frame
	Name     string // location, for messages
	At       int64  // offset of the frame in its file
	File     string // name of that file in a directory; "" for a container of one file
	Embedded bool   // in the compressed values of another frame
	close    func() error
}

func (m *MemberFrame) Close() error { return m.close() }

// MemberOf opens the frame at an address. It returns nil for an address without a path, and for a
// file that is no container. A frame that has its own file or member is found without a library.
// An embedded one is decoded by C-Blosc2, and therefore not for an untrusted file.
func (a *App) MemberOf(address string) (_ *MemberFrame, err error) {
	loc, err := locate.Parse(address)
	if err != nil || strings.Trim(loc.Object, "/") == "" {
		return nil, err
	}
	format, err := hyperslab.Sniff(loc.File)
	if err != nil || !IsStore(format) {
		return nil, nil // the reader of the format returns the reason
	}
	if remote.IsURL(loc.File) {
		return a.memberOfURL(loc, format)
	}
	key := "/" + strings.Trim(loc.Object, "/")
	switch format {
	case hyperslab.B2Z:
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
			return &MemberFrame{Frame: &stores.Frame{ReaderAt: part, Size: m.Size}, Name: loc.String(), At: m.Offset, close: f.Close}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	case hyperslab.B2D:
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
			return &MemberFrame{Frame: f, Name: loc.String(), File: m.Name, close: f.Close}, nil
		}
	}
	if a.Untrusted() {
		return nil, fmt.Errorf("%w: %s is not a file of the container: its frame is embedded or it is a column, and only a worker "+
			"decodes the values of an untrusted file", errors.ErrUnsupported, loc)
	}
	f, err := FrameOf(loc, format)
	return embeddedMember(f, loc.String(), err)
}

// embeddedMember returns the result of frameOf as the frame of an array in a container.
func embeddedMember(f *StoredFrame, name string, err error) (*MemberFrame, error) {
	if err != nil {
		return nil, ndarray.Wrap("open", name, err)
	}
	if f == nil {
		return nil, fmt.Errorf("%w: %s is a column of a table, whose rows are in several frames without a common grid of chunks",
			errors.ErrUnsupported, name)
	}
	return &MemberFrame{Frame: f.Frame, Name: name, Embedded: true, close: f.Close}, nil
}

// memberOfURL is memberOf for a container at a URL, which is one file.
func (a *App) memberOfURL(loc locate.Location, format hyperslab.Format) (_ *MemberFrame, err error) {
	name := locate.Location{File: remote.Redact(loc.File), Object: loc.Object}.String()
	if a.Untrusted() {
		return nil, fmt.Errorf("%w: --untrusted for %s: copy the file first", errors.ErrUnsupported, name)
	}
	o, err := remote.DefaultClient.Open(context.Background(), loc.File)
	if err != nil {
		return nil, err
	}
	if format == hyperslab.B2Z {
		members, err := b2store.ReadZip(o, o.Size(), b2store.Limits{})
		if err != nil {
			return nil, errors.Join(ndarray.Wrap("open", name, errs.Mark(err, ndarray.ErrCorrupt)), o.Close())
		}
		if m, ok := memberAt(members, "/"+strings.Trim(loc.Object, "/")); ok {
			part := io.NewSectionReader(o, m.Offset, m.Size)
			return &MemberFrame{Frame: &stores.Frame{ReaderAt: part, Size: m.Size}, Name: name, At: m.Offset, close: o.Close}, nil
		}
	}
	s, err := stores.OpenReaderAt(o, o.Size(), string(format), stores.Options{})
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
