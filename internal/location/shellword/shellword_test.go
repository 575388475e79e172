package shellword

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuote(t *testing.T) {
	for s, want := range map[string]string{
		"": "''", "a-1/b.h5": "a-1/b.h5", "a b": "'a b'", "it's": `'it'\''s'`, "x\x1b'": `$'x\x1b\''`, "größe": "'größe'",
		"DIMENSION_LIST": "DIMENSION_LIST", "$x": "'$x'",
	} {
		require.Equal(t, want, Quote(s))
	}
}
