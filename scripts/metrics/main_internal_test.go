package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoLines(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want int
	}{
		"blank lines and comments": {"package a // first\n\n// comment\n/* more\n   comments */\nvar x = 1\n", 2},
		"code after a comment":     {"package a\n/* before */ var x = 1\n", 2},
		"strings of several lines": {"package a\nvar x = `1\n\n3`\n", 4},
		"markers inside a string":  {"package a\nvar x = \"// text\"\n", 2},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, goLines([]byte(c.src))) })
	}
}

func TestCLines(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		want int
	}{
		"blank lines and comments": {"int a;\n\n// comment\n/* more\n   int b; */\nint c;\n", 2},
		"code around comments":     {"/* before */ int a; /* after */\nint b; // last\n", 2},
		"a comment that ends":      {"/* before\n*/ int a;\n", 1},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, cLines([]byte(c.src))) })
	}
}

func TestCompare(t *testing.T) {
	figures := []figure{{name: "a b", value: 3}, {name: "c", value: 2.5}, {name: "words", value: 9, free: true}}
	text, err := format(figures)
	require.NoError(t, err)
	require.NoError(t, compare(figures, parse(text)))
	require.NoError(t, compare(figures, map[string]float64{"a b": 4, "c": 2.5, "words": 1}), "smaller figures")
	err = compare(figures, map[string]float64{"a b": 2, "words": 1})
	require.ErrorContains(t, err, "a b: 3, before 2")
	require.ErrorContains(t, err, "c: 2.5, not in")
}
