package worker

import (
	"bytes"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrame_Bounded(t *testing.T) {
	var b bytes.Buffer
	require.Error(t, writeFrame(&b, frameCall, make([]byte, maxFrame+1)))
	require.Zero(t, b.Len())
	_, _, err := readFrame(bytes.NewReader([]byte{frameAnswer, 0xff, 0xff, 0xff, 0xff}))
	require.ErrorIs(t, err, ErrProtocol)
}

func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, writeFrame(&b, frameError, encodeError(fmt.Errorf("%w: x", fs.ErrNotExist), nil)))
	f.Add(b.Bytes())
	f.Add([]byte{frameAnswer, 3, 0, 0, 0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		kind, payload, err := readFrame(bytes.NewReader(in))
		if err != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, writeFrame(&again, kind, payload))
		require.Equal(t, in[:again.Len()], again.Bytes())
		require.Error(t, decodeError(payload))
	})
}
