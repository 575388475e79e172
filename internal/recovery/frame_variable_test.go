package recovery_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/recovery"
)

// TestRecover_variableChunks checks frames of format 3, which python-blosc2 writes for objects.
func TestRecover_variableChunks(t *testing.T) {
	for _, name := range []string{"py-objects.b2frame", "py-batch.b2frame"} {
		frame, err := os.ReadFile("../format/testdata/frame/" + name)
		require.NoError(t, err)
		dir := t.TempDir()
		src, dst := filepath.Join(dir, name), filepath.Join(dir, "new.b2frame")
		require.NoError(t, os.WriteFile(src, frame, 0o600))

		t.Run(name+", valid", func(t *testing.T) {
			r, err := recovery.Recover(bg, dst, src, nil)
			require.NoError(t, err)
			require.Zero(t, r.Lost+r.LostObjects)
			require.Positive(t, r.Chunks)
			if name == "py-objects.b2frame" {
				require.Equal(t, r.Chunks, r.Unverified)
				require.Equal(t, recovery.ExitWhole, r.ExitCode())
			}
			got, err := os.ReadFile(dst)
			require.NoError(t, err)
			require.Equal(t, frame, got)
		})
		t.Run(name+", corrupt", func(t *testing.T) {
			broken := bytes.Clone(frame)
			broken[len(broken)/2] ^= 0xff
			broken[len(broken)-22]++ // length of the trailer
			require.NoError(t, os.WriteFile(src, broken, 0o600))
			none := filepath.Join(dir, "none.b2frame")
			_, err := recovery.Recover(bg, none, src, nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NoFileExists(t, none)
		})
	}
}

func TestRecover_unavailablePlugin(t *testing.T) {
	frame, err := os.ReadFile("../format/testdata/frame/py-unicode.b2nd")
	require.NoError(t, err)
	for name, edit := range map[string]func([]byte){
		"codec 200": func(b []byte) {
			b[27], b[77] = b[27]&0xf0|6, 200
			first := b[binary.BigEndian.Uint32(b[11:]):]
			first[2], first[0x16] = first[2]&0x1f|6<<5, 200
		},
		"filter 180": func(b []byte) {
			b[71] = 180
			b[binary.BigEndian.Uint32(b[11:])+0x10] = 180
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.b2nd")
			b := bytes.Clone(frame)
			edit(b)
			require.NoError(t, os.WriteFile(src, b, 0o600))
			_, err := recovery.Recover(bg, src+".new", src, nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, name+", which is not available")
		})
	}
}
