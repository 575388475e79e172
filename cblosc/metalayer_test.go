package cblosc_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

func TestMetalayers(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		for kind, vl := range map[string]bool{"fixed": false, "variable": true} {
			t.Run(name+" "+kind, func(t *testing.T) {
				if st.Path != "" {
					st.Path += kind
				}
				s, err := cblosc.CreateSChunk(st)
				require.NoError(t, err)
				m := s.Meta()
				if vl {
					m = s.VLMeta()
				}
				longest := strings.Repeat("n", cblosc.MaxMetalayerName)
				want := map[string][]byte{"a": []byte("hello"), "empty": {}, longest: bytes.Repeat([]byte("long "), 1000), "ä\xff": {0, 1, 0}}
				order := []string{"a", "empty", longest, "ä\xff"}
				for _, k := range order {
					require.NoError(t, m.Add(k, want[k]))
				}
				require.ErrorIs(t, m.Add("a", nil), cblosc.ErrExists)
				require.ErrorIs(t, m.Update("b", nil), cblosc.ErrNotFound)
				require.NoError(t, m.Update("a", []byte("HELLO")))
				want["a"] = []byte("HELLO")
				if vl {
					require.NoError(t, m.Update("a", []byte("longer than before")))
					want["a"] = []byte("longer than before")
				} else {
					err := m.Update("a", []byte("HELL"))
					require.ErrorIs(t, err, cblosc.ErrSize)
					require.ErrorContains(t, err, "4 bytes for a fixed metalayer of 5")
				}
				require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
				check := func(s *cblosc.SChunk) {
					m := s.Meta()
					if vl {
						m = s.VLMeta()
					}
					names, err := m.Names()
					require.NoError(t, err)
					require.Equal(t, order, names)
					for k, v := range want {
						got, err := m.Get(k)
						require.NoError(t, err)
						require.Equal(t, string(v), string(got), "%q", k)
					}
					_, err = m.Get("b")
					require.ErrorIs(t, err, cblosc.ErrNotFound)
				}
				check(s)
				b, err := s.Bytes()
				require.NoError(t, err)
				c, err := cblosc.OpenSChunkBytes(b)
				require.NoError(t, err)
				check(c)
				require.NoError(t, c.Close())
				if st.Path != "" {
					require.NoError(t, s.Close())
					s, err = cblosc.OpenSChunk(st.Path)
					require.NoError(t, err)
					check(s)
				}
				m = s.Meta()
				if vl {
					m = s.VLMeta()
					require.ErrorIs(t, m.Delete("b"), cblosc.ErrNotFound)
					require.NoError(t, m.Delete("empty"))
					delete(want, "empty")
					order = []string{"a", longest, "ä\xff"}
					check(s)
				} else {
					require.ErrorIs(t, m.Delete("a"), errors.ErrUnsupported)
				}
				require.NoError(t, s.Close())
				_, err = m.Names()
				require.ErrorIs(t, err, cblosc.ErrClosed)
				_, err = m.Get("a")
				require.ErrorIs(t, err, cblosc.ErrClosed)
				require.ErrorIs(t, m.Add("c", nil), cblosc.ErrClosed)
				require.ErrorIs(t, m.Update("a", nil), cblosc.ErrClosed)
				require.ErrorIs(t, m.Delete("a"), cblosc.ErrClosed)
			})
		}
	}
}

// TestMetalayerLimits checks the limits before C-Blosc2 is called. C-Blosc2 writes past the end of
// its table at the 17th fixed metalayer, and rejects the 17th variable-length metalayer only after
// it has changed the frame.
func TestMetalayerLimits(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			closing(t, s)
			for _, m := range []*cblosc.Metalayers{s.Meta(), s.VLMeta()} {
				require.ErrorIs(t, m.Add("", nil), cblosc.ErrParam)
				require.ErrorIs(t, m.Add("a\x00b", nil), cblosc.ErrParam)
				err := m.Add(strings.Repeat("n", 32), nil)
				require.ErrorIs(t, err, cblosc.ErrLimit)
				require.ErrorContains(t, err, "32 bytes, at most 31")
				_, err = m.Get(strings.Repeat("n", 32))
				require.ErrorIs(t, err, cblosc.ErrNotFound)
				for i := range 16 {
					require.NoError(t, m.Add(fmt.Sprint("m", i), []byte{byte(i)}))
				}
				require.ErrorIs(t, m.Add("one more", nil), cblosc.ErrLimit)
				names, err := m.Names()
				require.NoError(t, err)
				require.Len(t, names, 16)
			}
			require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
			dst := make([]byte, 64)
			_, err = s.DecompressChunk(dst, 0)
			require.NoError(t, err)
			require.Equal(t, testutil.Ramp(64, 1), dst)
		})
	}
}

func TestMetalayer_fixedAfterData(t *testing.T) {
	for name, st := range storages(t, cparams(4)) {
		t.Run(name, func(t *testing.T) {
			s, err := cblosc.CreateSChunk(st)
			require.NoError(t, err)
			closing(t, s)
			require.NoError(t, s.AppendBuffer(testutil.Ramp(64, 1)))
			err = s.Meta().Add("late", nil)
			if name == "memory sparse" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, cblosc.ErrParam)
			names, err := s.Meta().Names()
			require.NoError(t, err)
			require.Empty(t, names)
		})
	}
}
