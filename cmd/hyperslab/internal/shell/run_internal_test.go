package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemporary(t *testing.T) {
	for text, want := range map[string]string{
		"write .a.h5.tmp-12-1-0123abcd: full":                             "write a.h5: full",
		"write dir/.a.h5.tmp-12-1: full":                                  "write dir/a.h5: full",
		"resize .a.b2nd.tmp-7-1-738032aa: open .a.b2nd.tmp-7-1-738032aa:": "resize a.b2nd: open a.b2nd:",
		"open .hidden.h5: not found":                                      "open .hidden.h5: not found",
	} {
		require.Equal(t, want, temporary.ReplaceAllString(text, "$1$2"))
	}
}
