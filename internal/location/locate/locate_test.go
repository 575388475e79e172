package locate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.Mkdir("d:", 0o755))
	for _, f := range []string{"a.h5", "d:/a.h5", "odd:"} {
		require.NoError(t, os.WriteFile(f, nil, 0o644))
	}
	for s, want := range map[string]locate.Location{
		"a.h5":            {File: "a.h5"},
		"a.h5:/x":         {File: "a.h5", Object: "/x"},
		"a.h5:/":          {File: "a.h5", Object: "/"},
		"a.h5:/x:/y":      {File: "a.h5", Object: "/x:/y"},
		"d:/a.h5":         {File: "d:/a.h5"},
		"d:/a.h5:/x/y":    {File: "d:/a.h5", Object: "/x/y"},
		"d:":              {File: "d:"},
		"odd:":            {File: "odd:"},
		"odd::/x":         {File: "odd:", Object: "/x"},
		"new.h5:/x":       {File: "new.h5", Object: "/x"},
		"new.h5:/x:/y":    {File: "new.h5:/x", Object: "/y"},
		"d:/new.h5:/x":    {File: "d:/new.h5", Object: "/x"},
		"new.b2nd":        {File: "new.b2nd"},
		"new.h5:relative": {File: "new.h5:relative"},
	} {
		got, err := locate.Parse(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
		require.Equal(t, s, got.String())
	}
	for _, s := range []string{"", ":/x"} {
		_, err := locate.Parse(s)
		require.ErrorIs(t, err, ndarray.ErrParam, "%q", s)
	}
}

// FuzzParse checks that any string gives ErrParam or a location whose String is the same
// string.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a.h5:/x", "a.b2nd", ":/x", "here:/there", "here:/there:/x", "here:/", "C:/a.h5:/x", "", ":", "a:/b:/c", "\x00:/", "a\x00"} {
		f.Add(s)
	}
	dir := f.TempDir()
	require.NoError(f, os.MkdirAll(filepath.Join(dir, "here:", "there"), 0o777))
	f.Chdir(dir)
	f.Fuzz(func(t *testing.T, s string) {
		l, err := locate.Parse(s)
		if err != nil {
			require.ErrorIs(t, err, ndarray.ErrParam)
			var e *ndarray.Error
			require.ErrorAs(t, err, &e)
			return
		}
		require.Equal(t, s, l.String())
		require.NotEmpty(t, l.File)
		require.True(t, l.Object == "" || l.Object[0] == '/', "%q", l.Object)
		again, err := locate.Parse(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
	})
}
