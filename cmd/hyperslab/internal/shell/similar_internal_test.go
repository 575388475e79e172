package shell

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimilar(t *testing.T) {
	paths := []string{"/", "/elevation", "/lat", "/run1", "/run1/temperature", "/run2", "/run2/temperature", "/time"}
	for want, names := range map[string][]string{
		"/elevatoin":         {"/elevation"},
		"/Elevation":         {"/elevation"},
		"/lta":               nil, // two of three letters differ
		"/let":               {"/lat"},
		"/temperature":       {"/run1/temperature", "/run2/temperature"},
		"/run3/temperature":  {"/run1/temperature", "/run2/temperature"},
		"/run1/tempreature":  {"/run1/temperature", "/run2/temperature"},
		"/elevation":         nil,
		"/pressure":          nil,
		"/rum1/temperatures": {"/run1/temperature", "/run2/temperature"},
	} {
		require.Equal(t, names, similar(want, paths), want)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		require.Equal(t, c.want, editDistance(c.a, c.b), "%q %q", c.a, c.b)
	}
}
