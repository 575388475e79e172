package hyperslab

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/ndarray"
)

// Isolated opens an array in a worker and returns the backend.
func Isolated(ctx context.Context, location string) (ndarray.Backend, error) {
	s, err := newSuspect(ctx, OpenOptions{Untrusted: new(Untrusted)})
	if err != nil {
		return nil, err
	}
	l, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx, l); err != nil {
		return nil, errors.Join(err, s.close())
	}
	r, _, err := s.remote(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return r, nil
}

// Encode and Decode are what crosses to a worker.
func Encode(v any) []byte          { return encode(v) }
func Decode(b []byte, v any) error { return decode(b, v) }

// Boxes are the pieces that a region is read in.
var Boxes = boxes

// Ahead is how many of them the worker may have, and their goroutines.
var Ahead = ahead

// WireEntries and DecodeEntry are how the objects of a file cross.
type WireEntries = wireEntries

var DecodeEntry = decodeEntry

// Inside reports whether a part that a worker is asked for lies in the whole.
var Inside = inside
