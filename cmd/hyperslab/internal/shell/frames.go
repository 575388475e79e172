package shell

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/location/locate"
)

// IsStore reports whether a format is a container of python-blosc2.
func IsStore(f hyperslab.Format) bool {
	return slices.Contains([]hyperslab.Format{hyperslab.B2Z, hyperslab.B2D, hyperslab.B2E}, f)
}

// StoredFrame is a frame, and the container that it is in.
type StoredFrame struct {
	*stores.Frame
	store *stores.Store // nil: none
}

func (f *StoredFrame) Close() error {
	err := f.Frame.Close()
	if f.store != nil {
		err = errors.Join(err, f.store.Close())
	}
	return err
}

// FrameOf opens the frame of an array. It returns nil for an array that is not one frame.
func FrameOf(l locate.Location, format hyperslab.Format) (_ *StoredFrame, err error) {
	if !IsStore(format) {
		if info, err := os.Stat(l.File); err != nil || !IsFrame(format) || !info.Mode().IsRegular() {
			return nil, err
		}
		f, err := stores.OpenFrame(l.File)
		return &StoredFrame{Frame: f}, err
	}
	s, err := stores.Open(l.File, string(format), stores.Options{})
	if err != nil {
		return nil, err
	}
	return frameIn(s, l)
}

// frameIn is frameOf in an open container, which it closes unless it returns a frame.
func frameIn(s *stores.Store, l locate.Location) (_ *StoredFrame, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	key := "/" + strings.Trim(l.Object, "/")
	if _, group := s.Members(key); group {
		return nil, Usagef("%s is a group; name an array in it", l)
	}
	x, err := s.Object(key)
	if err != nil {
		return nil, err
	}
	if x.Table != nil {
		return nil, s.Close()
	}
	f, err := s.Frame(x)
	return &StoredFrame{f, s}, err
}

// IsFrame reports whether a format stores arrays in Blosc2 frames, which have blocks and can be
// sparse.
func IsFrame(f hyperslab.Format) bool {
	return slices.Contains([]hyperslab.Format{hyperslab.B2ND, hyperslab.Caterva, FrameFormat}, f)
}

// FrameFormat is the value of --format for a plain Blosc2 frame.
const FrameFormat = "frame"
