package shell

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretWriter(t *testing.T) {
	const text = "a http://h/x?k=s&t=u:/d h http://h/x?other b http://h/x?k=s\\u0026t=u http://h/x?k=s&t=uv http"
	const want = "a http://h/x?...:/d h http://h/x?other b http://h/x?... http://h/x?...v http"
	for size := 1; size <= len(text); size++ { // of the writes
		s := new(Secrets)
		require.True(t, s.Of([]string{"ls", "--url-index=i=http://h/x?k=s&t=u"}))
		require.True(t, s.Of([]string{"http://h/x?k=s&t=u:/d"}))
		var b bytes.Buffer
		w := s.Writer(&b)
		for at := 0; at < len(text); at += size {
			part := text[at:min(at+size, len(text))]
			n, err := w.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		require.NoError(t, w.Flush())
		require.Equal(t, want, b.String(), size)
	}
	require.False(t, new(Secrets).Of([]string{"ls", "http://h/x", "what?", "-n"}))
	require.True(t, new(Secrets).Of([]string{"ls", "--files-from", "x"}))
}
