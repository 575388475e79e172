// Tests of Field and Error.

package format_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
)

func tree() format.Field {
	return format.Field{Name: "file", Length: 12, Fields: []format.Field{
		{Name: "header", Length: 8, Fields: []format.Field{
			{Name: "version", Length: 1, Value: "9", Complaint: "unknown"},
			{Name: "size", Offset: 4, Length: 4, Value: "12", Meaning: "bytes"},
		}},
		{Name: "name", Offset: 8, Length: 4, Value: "a\x1b[31m\xffé", Complaint: "not text"},
	}}
}

func TestWalk(t *testing.T) {
	var paths []string
	for p, f := range tree().Walk() {
		require.True(t, strings.HasSuffix(p, f.Name), p)
		paths = append(paths, p)
	}
	require.Equal(t, []string{"file", "file/header", "file/header/version", "file/header/size", "file/name"}, paths)

	for p := range tree().Walk() {
		if p == "file/header/version" {
			break // must neither panic nor continue
		}
	}
}

func TestField_Findings(t *testing.T) {
	var paths []string
	for p := range tree().Complaints() {
		paths = append(paths, p)
	}
	require.Equal(t, []string{"file/header/version", "file/name"}, paths)
	require.Empty(t, slices.Collect(func(yield func(string) bool) {
		for p := range (format.Field{Name: "x"}).Complaints() {
			yield(p)
		}
	}))
}

func TestFind(t *testing.T) {
	f, ok := tree().Find("file/header/size")
	require.True(t, ok)
	require.Equal(t, "12", f.Value)
	_, ok = tree().Find("size")
	require.False(t, ok)
}

func TestMoved(t *testing.T) {
	orig := tree()
	f, ok := orig.Moved(100).Find("file/header/size")
	require.True(t, ok)
	require.EqualValues(t, 104, f.Offset)
	require.Equal(t, tree(), orig)
}

func TestField_AddFinding(t *testing.T) {
	f := tree()
	f.Complain(nil)
	require.Equal(t, tree(), f)
	f.Complain(&format.Error{What: "size", Offset: 5, Got: "12", Want: "13", Err: format.ErrCorrupt})
	f.Complain(&format.Error{What: "digest", Offset: 8, Err: format.ErrTruncated})
	f.Complain(&format.Error{What: "end", Offset: 12, Err: format.ErrTruncated})
	f.Complain(errors.New("plain"))
	var got []string
	for path, c := range f.Complaints() {
		got = append(got, path+" = "+c.Complaint)
	}
	require.Equal(t, []string{
		"file = end: truncated; plain",
		"file/header/version = unknown",
		"file/header/size = got 12, want 13: corrupt",
		"file/name = not text; digest: truncated",
	}, got)
}

// TestWriteText checks that control characters in values are escaped, because the terminal must not
// interpret them.
func TestWriteText(t *testing.T) {
	var b strings.Builder
	require.NoError(t, tree().WriteText(&b))
	require.Equal(t, `         0         12  file
         0          8    header
         0          1      version                      9  ! unknown
         4          4      size                         12  (bytes)
         8          4    name                           a\x1b[31m\xffé  ! not text
`, b.String())
}

func TestField_writeError(t *testing.T) {
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	require.ErrorIs(t, tree().WriteText(w), io.ErrClosedPipe)
}

func TestError(t *testing.T) {
	err := error(&format.Error{Format: "blosc chunk", What: "cbytes", Offset: 12, Got: "10", Want: "at least 16", Err: format.ErrCorrupt})
	require.EqualError(t, err, "blosc chunk: cbytes at byte 12: got 10, want at least 16: corrupt")
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.Equal(t, "got 10, want at least 16: corrupt", format.Complaint(err))
	require.Equal(t, "plain", format.Complaint(errors.New("plain")))
	require.Equal(t, "corrupt", format.Complaint(&format.Error{Err: format.ErrCorrupt}))
	require.Equal(t, "want 1", format.Complaint(&format.Error{Want: "1"}))
	require.ErrorIs(t, format.ErrUnsupported, errors.ErrUnsupported)
}
