package hyperslab

import (
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Isolated opens an array in a worker and returns the backend.
func Isolated(ctx context.Context, location string) (ndarray.Backend, error) {
	s, err := newSuspect(ctx, OpenOptions{Untrusted: new(Untrusted)})
	if err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx, l); err != nil {
		return nil, errors.Join(err, s.close())
	}
	r, err := s.remote(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return r, nil
}

// Ahead returns how many boxes a worker reads ahead, and the number of goroutines.
var Ahead = ahead

// WireEntries and DecodeEntry represent the objects of a file in messages of a worker.
type WireEntries = wireEntries

var DecodeEntry = decodeEntry

// Inside reports whether a requested region lies inside the region that a worker has read.
var Inside = inside

// RefusalOf returns the error for an entry that a format cannot store.
var RefusalOf = (*Entry).unsupportedIn
