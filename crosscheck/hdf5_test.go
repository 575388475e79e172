package crosscheck

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// TestMisread_hdf5 checks that every dataset read from its stored chunks gives the bytes of the
// reference. If a reader violates one rule, the explanation must contain this rule.
func TestMisread_hdf5(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named := make(map[string]int)
	rebuilt := 0
	for _, c := range sampled(m, "hdf5") {
		if c.Must == Refuse || c.Decoded.Bytes == 0 {
			continue
		}
		path := filepath.Join(dir, c.Path)
		s, err := loadStored(path, c.Object)
		require.NoError(t, err, c.ID)
		if s == nil {
			x, err := Explain(dir, c, make([]byte, c.Decoded.Bytes+1))
			require.NoError(t, err, c.ID)
			require.NotEmpty(t, x.Stage, c.ID)
			continue
		}
		right, err := s.read(hdf5Misread{})
		if err != nil {
			require.Contains(t, []string{"nbit", "scaleoffset"}, c.Params["filter"], "%s: %v", c.ID, err)
			continue
		}
		require.Equal(t, c.Decoded.SHA256, hexSum(right), c.ID)
		rebuilt++
		misreadsAreNamed(t, dir, c, hdf5Rules, s.read, named)
		right[len(right)-1] ^= 1
		x, err := Explain(dir, c, right)
		require.NoError(t, err, c.ID)
		require.EqualValues(t, len(right)-1, x.Offset)
		require.Empty(t, x.Rule, c.ID)
		require.NotEmpty(t, x.Stage)
		for i, n := range s.info.Space.Dims {
			require.Equal(t, n-1, x.Index[i], c.ID)
		}
	}
	for _, r := range rulesToName(hdf5Rules) {
		require.Positive(t, named[r.name], "no explanation contains the rule: %s", r.name)
	}
	require.Greater(t, rebuilt, 20)
}

// TestMisread_fletcher32 checks that the checksums of the library have the form of this package,
// and that for each misread form at least one vector has another checksum.
func TestMisread_fletcher32(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	caught := make(map[string]string)
	checked := 0
	for _, c := range inAreas(m, "hdf5") {
		if c.Must == Refuse || !strings.Contains(c.ID, "fletcher32") {
			continue
		}
		s, err := loadStored(filepath.Join(dir, c.Path), c.Object)
		require.NoError(t, err, c.ID)
		if s == nil || len(s.info.Filters) == 0 || s.info.Filters[len(s.info.Filters)-1].ID != h5.FilterFletcher32 {
			continue // the checksum is not that of the stored bytes
		}
		for _, k := range s.chunks {
			if k.FilterMask>>(len(s.info.Filters)-1)&1 != 0 || s.info.PlainEdges && s.partial(&k) {
				continue
			}
			data, stored := k.data[:len(k.data)-4], binary.LittleEndian.Uint32(k.data[len(k.data)-4:])
			require.Equal(t, stored, fletcher32(data, fletcherFold), c.ID)
			checked++
			for _, r := range fletcherRules {
				if fletcher32(data, r.m) != stored {
					caught[r.name] = c.ID
				}
			}
		}
	}
	require.Greater(t, checked, 50)
	for _, r := range fletcherRules {
		require.NotEmpty(t, caught[r.name], "no vector detects: %s", r.name)
	}
}

// TestHDF5_filterStages checks that the explanation names the first filter that a reader did not
// reverse.
func TestHDF5_filterStages(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	named := make(map[string]int)
	for _, c := range sampled(m, "hdf5") {
		if c.Must == Refuse || c.Decoded.Bytes == 0 {
			continue
		}
		s, err := loadStored(filepath.Join(dir, c.Path), c.Object)
		require.NoError(t, err, c.ID)
		if s == nil || len(s.chunks) == 0 || len(s.chunks) > 50 {
			continue
		}
		right, err := s.read(hdf5Misread{})
		if err != nil {
			continue // a filter that only libhdf5 can reverse
		}
		k := &s.chunks[len(s.chunks)-1]
		steps := s.stages(k)
		require.Equal(t, s.inside(k, steps[len(steps)-1].data), s.only(k, right), c.ID)
		for i := range steps[:len(steps)-1] {
			got := bytes.Clone(right)
			s.put(got, padded(s, steps[i].data), k.Offset, hdf5Misread{})
			if bytes.Equal(got, right) {
				continue
			}
			x, err := Explain(dir, c, got)
			require.NoError(t, err, c.ID)
			if x.Rule != "" {
				continue
			}
			last := i // if later stages give the same bytes, the explanation names the last one
			for j := i; j < len(steps)-1; j++ {
				if bytes.Equal(s.inside(k, steps[j].data), s.inside(k, steps[i].data)) {
					last = j
				}
			}
			require.Contains(t, x.Stage, steps[last+1].name+": not done", c.ID)
			named[s.info.Filters[steps[last+1].slot].Name]++
		}
	}
	if !sampling() {
		for _, name := range []string{"shuffle", "deflate"} {
			require.Positive(t, named[name], "%s: %v", name, named)
		}
		require.Greater(t, len(named), 5, "%v", named)
	}
}

// padded returns b extended with zeros to the size of a chunk.
func padded(s *hdf5Stored, b []byte) []byte {
	out := make([]byte, s.item*int(s.chunkElems()))
	copy(out, b)
	return out
}
