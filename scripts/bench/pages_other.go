//go:build !linux

package main

import (
	"errors"
	"fmt"
)

// dropPages returns errors.ErrUnsupported, because only Linux drops pages on request.
func dropPages(path string) error {
	return fmt.Errorf("%w: dropping the pages of %s", errors.ErrUnsupported, path)
}
