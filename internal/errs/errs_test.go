package errs_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/errs"
)

func TestMark(t *testing.T) {
	library := errors.New("the library cannot find it")
	err := errs.Mark(library, errs.ErrNotFound)
	require.EqualError(t, err, "the library cannot find it")
	for _, target := range []error{library, errs.ErrNotFound, fs.ErrNotExist} {
		require.ErrorIs(t, err, target)
	}
	require.NotErrorIs(t, err, errs.ErrExists)
}
