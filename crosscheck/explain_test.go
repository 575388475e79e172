package crosscheck

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// TestMisread_rules checks that decoding each valid chunk in stages gives the bytes of the
// reference. For each rule, at least one vector must detect a reader that violates it, and the
// explanation must contain the rule.
func TestMisread_rules(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	caught := make(map[string]int)
	named := make(map[string]int)
	for _, c := range sampled(m, "chunk", "blosc1") {
		if c.Must == Refuse {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.Path))
		require.NoError(t, err)
		blocks, err := stages(b, misread{})
		require.NoError(t, err, c.ID)
		want := valuesOf(blocks)
		if c.Decoded.SHA256 == "" {
			require.EqualValues(t, c.Decoded.Bytes, len(want), c.ID)
			continue
		}
		require.Equal(t, c.Decoded.SHA256, hexSum(want), c.ID)
		x, err := ExplainChunk(b, want)
		require.NoError(t, err)
		require.EqualValues(t, -1, x.Offset, c.ID)
		require.Equal(t, "no difference", x.String())

		if strings.Contains(c.ID, "/sweep/") && c.Params["typesize"] != "29" {
			continue // one type size of the sweep is enough for the violated rules
		}
		for _, r := range chunkRules {
			wrong, err := stages(b, r.m)
			if err != nil {
				caught[r.name]++ // this reader returns an error
				continue
			}
			got := valuesOf(wrong)
			if hexSum(got) == c.Decoded.SHA256 {
				continue
			}
			caught[r.name]++
			x, err := ExplainChunk(b, got)
			require.NoError(t, err)
			require.NotEmpty(t, x.Stage, c.ID)
			if x.Rule == r.name {
				named[r.name]++
				require.Equal(t, r.stage, x.Stage)
				require.Contains(t, x.String(), r.sentence)
			}
			// Another rule may give the same bytes, so the explanation may contain that rule.
			require.NotEmpty(t, x.Rule, "%s: %s", c.ID, r.name)
		}
	}
	for _, r := range rulesToName(chunkRules) {
		require.Positive(t, caught[r.name], "no vector detects: %s", r.name)
		require.Positive(t, named[r.name], "no explanation contains the rule: %s", r.name)
	}
}

// TestExplain_flippedByte checks the offset, block and stage of a different byte that no single
// rule explains.
func TestExplain_flippedByte(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	located := 0
	for _, c := range inAreas(m, "chunk") {
		if c.Params["length"] != "tail" || c.Params["filters"] != "shuffle" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, c.Path))
		require.NoError(t, err)
		blocks, err := stages(b, misread{})
		require.NoError(t, err)
		got := valuesOf(blocks)
		if len(blocks) < 2 {
			continue
		}
		n := len(valuesOf(blocks[:1]))
		got[n+1] ^= 0x40
		x, err := ExplainChunk(b, got)
		require.NoError(t, err)
		require.EqualValues(t, n+1, x.Offset)
		require.Equal(t, 1, x.Block)
		require.EqualValues(t, 1, x.Differ)
		require.GreaterOrEqual(t, x.Stream, 0)
		require.Empty(t, x.Rule)
		require.Contains(t, x.Stage, "(shuffle)")
		require.Contains(t, x.Sentence, "Shuffle: ")
		require.NotEmpty(t, x.Header)
		located++

		x, err = ExplainChunk(b, got[:n])
		require.NoError(t, err)
		require.EqualValues(t, n, x.Offset)
		require.Contains(t, x.String(), "size: got")
	}
	require.Positive(t, located)
}

// TestExplain_complete checks in every area that the explanation of a result that is too long, or
// whose last byte differs, contains a stage and a sentence of the specification. The explanation
// of a different byte must also contain header fields.
func TestExplain_complete(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	for _, c := range sampled(m, Areas()...) {
		if c.Must == Refuse {
			continue
		}
		want, err := Decode(dir, c)
		require.NoError(t, err, c.ID)
		longer, err := Explain(dir, c, append(bytes.Clone(want), 1))
		require.NoError(t, err, c.ID)
		require.EqualValues(t, len(want), longer.Offset, c.ID)
		require.NotEmpty(t, longer.Stage, c.ID)
		require.NotEmpty(t, longer.Sentence, c.ID)
		if len(want) == 0 || c.Decoded.SHA256 == "" {
			continue
		}
		want[len(want)-1] ^= 1
		x, err := Explain(dir, c, want)
		require.NoError(t, err, c.ID)
		require.EqualValues(t, len(want)-1, x.Offset, c.ID)
		require.NotEmpty(t, x.Stage, c.ID)
		require.NotEmpty(t, x.Sentence, c.ID)
		require.NotEmpty(t, x.Header, c.ID)
		elements := int64(1)
		for _, n := range c.Decoded.Shape {
			elements *= n
		}
		if c.Area != "chunk" && c.Area != "blosc1" && c.Area != "frame" {
			require.Equal(t, elements-1, x.Element, c.ID)
		}
	}
}

// TestExplain_writer checks that the explanation for a writer names the encoding step that it left
// out. A reader that leaves out the same step reads the intended bytes.
func TestExplain_writer(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	explained := 0
	for _, c := range inAreas(m, "chunk") {
		if c.Must == Refuse || c.Params["filters"] != "shuffle" {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(c.Path))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		blocks, err := stages(b, misread{})
		require.NoError(t, err)
		meant, err := stages(b, misread{skip: chunk.Shuffle})
		require.NoError(t, err)
		read, data := valuesOf(blocks), valuesOf(meant)
		if bytes.Equal(read, data) {
			continue
		}
		x := explainWritten(&Spec{Area: "chunk", Case: c.ID, Item: c.Decoded.Item}, read, data, path)
		require.Contains(t, x.Rule, "the result would be right if ", c.ID)
		require.Contains(t, x.Stage, "written, ", c.ID)
		require.Equal(t, window(read, x.Offset), x.Got, c.ID)
		require.Equal(t, window(data, x.Offset), x.Want, c.ID)
		if x.Rule == "the result would be right if the shuffle is not undone" {
			require.Equal(t, "written, filter shuffle", x.Stage, c.ID)
			explained++
		}
	}
	require.Positive(t, explained)
}
