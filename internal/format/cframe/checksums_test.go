package cframe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
)

func TestParseChecksums(t *testing.T) {
	for _, sums := range [][]uint32{{}, {1}, {0xFFFFFFFF, 0, 0x12345678}, make([]uint32, 70_000)} {
		got, err := cframe.ParseChecksums(cframe.AppendChecksums(nil, sums), len(sums))
		require.NoError(t, err)
		require.Equal(t, sums, got)
	}
	require.Equal(t, uint32(0xE3069283), cframe.Checksum([]byte("123456789")), "the check value of CRC-32C")

	valid := msgpack.Map{{Key: "version", Value: int64(1)}, {Key: "kind", Value: "crc32c"}, {Key: "chunks", Value: make([]byte, 8)}}
	with := func(i int, v any) []byte {
		m := append(msgpack.Map{}, valid...)
		m[i].Value = v
		return msgpack.Append(nil, m)
	}
	for name, x := range map[string]struct {
		content []byte
		err     error
	}{
		"version":    {with(0, int64(2)), format.ErrVersion},
		"kind":       {with(1, "md5"), format.ErrVersion},
		"length":     {with(2, make([]byte, 12)), format.ErrCorrupt},
		"type":       {with(2, "12345678"), format.ErrCorrupt},
		"no map":     {msgpack.Append(nil, int64(1)), format.ErrCorrupt},
		"no content": {nil, format.ErrCorrupt},
		"cut":        {msgpack.Append(nil, valid)[:20], format.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cframe.ParseChecksums(x.content, 2)
			require.ErrorIs(t, err, x.err)
		})
	}
}
