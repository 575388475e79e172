package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteJSON_controlCharacters(t *testing.T) {
	doc := map[string]string{"k": "\x1b[1m\u009b\x7f\u202e é"}
	var b strings.Builder
	require.NoError(t, writeJSON(&b, doc, "", false))
	require.NotContains(t, b.String(), "\u009b")
	require.NotContains(t, b.String(), "\x7f")
	require.NotContains(t, b.String(), "\u202e")
	var got map[string]string
	require.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	require.Equal(t, doc, got)
}

func TestApp_note(t *testing.T) {
	var b bytes.Buffer
	a := &App{Stderr: &b, Talk: true}
	a.Note("%s %s", a.Talk.Notice("word:"), "\x1b[2J\u009b")
	require.Equal(t, "\x1b[33mword:\x1b[0m \\x1b[2J\\u009b\n", b.String())
	b.Reset()
	a.Talk = false
	a.Note("%s", "\x1b[33m")
	require.Equal(t, "\\x1b[33m\n", b.String())
}

func TestSpool(t *testing.T) {
	for _, size := range []int{10, spoolMemory + 10, 2*spoolMemory + 50} {
		s := &Spool{}
		want := bytes.Repeat([]byte("0123456789"), size/10)
		for rest := want; len(rest) > 0; rest = rest[min(1<<20, len(rest)):] {
			_, err := s.Write(rest[:min(1<<20, len(rest))])
			require.NoError(t, err)
		}
		var got bytes.Buffer
		require.NoError(t, s.CopyTo(&got))
		require.True(t, bytes.Equal(want, got.Bytes()))
		require.NoError(t, s.Close())
	}
	s := &Spool{}
	require.NoError(t, errors.Join(s.CopyTo(&bytes.Buffer{}), s.Close()))
}
