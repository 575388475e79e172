package errs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/errs"
)

func TestNew(t *testing.T) {
	inner := errs.New("no such part", errs.ErrNotFound, errs.ErrCorrupt)
	err := fmt.Errorf("part 3: %w", inner)
	require.EqualError(t, err, "part 3: no such part")
	for _, target := range []error{inner, errs.ErrNotFound, fs.ErrNotExist, errs.ErrCorrupt} {
		require.ErrorIs(t, err, target)
	}
	require.NotErrorIs(t, errs.ErrCorrupt, inner)
	require.NotErrorIs(t, err, errs.ErrExists)
}

func TestMark(t *testing.T) {
	library := errors.New("the library cannot find it")
	err := errs.Mark(library, errs.ErrNotFound)
	require.EqualError(t, err, "the library cannot find it")
	for _, target := range []error{library, errs.ErrNotFound, fs.ErrNotExist} {
		require.ErrorIs(t, err, target)
	}
	require.NotErrorIs(t, err, errs.ErrExists)
}
