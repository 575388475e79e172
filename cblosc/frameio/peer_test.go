// Tests of frames against C-Blosc2, which runs in a separate process, the peer. The index that
// C-Blosc2 writes has reproducible bytes only with BLOSC_NTHREADS=1 in the environment, which a
// test must not set for the process that other tests run in.
package frameio_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

const peerVariable = "HYPERSLAB_FRAMEIO_PEER"

// job describes a frame that C-Blosc2 or a Writer must write.
type job struct {
	Path         string
	Append       bool // to the frame at Path; otherwise create it
	Contiguous   bool
	CParams      cblosc.CParams
	ChunkSize    int
	Chunks       []piece
	Meta, VLMeta []cblosc.Metalayer
}

// piece is one chunk: either values to compress or a special chunk.
type piece struct {
	Kind  pieceKind
	Bytes int
	Seed  uint64
}

type pieceKind int

const (
	rising pieceKind = iota
	random
	zeros // values to compress, all of them zero
	specialZeros
	specialNaNs
	specialRepeated
	specialUninit
	numKinds
)

// values returns the values to compress, or nil for a special chunk.
func (p piece) values() []byte {
	switch p.Kind {
	case rising:
		return testutil.Ramp(p.Bytes, p.Seed)
	case random:
		return testutil.Noise(p.Bytes, p.Seed)
	case zeros:
		return make([]byte, p.Bytes)
	}
	return nil
}

// chunk returns the special chunk.
func (p piece) chunk(cp *cblosc.CParams) ([]byte, error) {
	switch p.Kind {
	case specialNaNs:
		return cblosc.SpecialChunk(cp, cblosc.NaNs, p.Bytes, nil)
	case specialRepeated:
		return cblosc.SpecialChunk(cp, cblosc.Repeated, p.Bytes, testutil.Noise(cp.TypeSize, p.Seed))
	case specialUninit:
		return cblosc.SpecialChunk(cp, cblosc.Uninit, p.Bytes, nil)
	}
	return cblosc.SpecialChunk(cp, cblosc.Zeros, p.Bytes, nil)
}

// byLibrary writes j with C-Blosc2, chunk by chunk.
func (j *job) byLibrary() (err error) {
	var s *cblosc.SChunk
	if j.Append {
		s, err = cblosc.OpenSChunk(j.Path)
	} else {
		s, err = cblosc.CreateSChunk(cblosc.Storage{Path: j.Path, Contiguous: j.Contiguous, CParams: &j.CParams})
	}
	if err != nil {
		return err
	}
	defer func() {
		if cerr := s.Close(); err == nil {
			err = cerr
		}
	}()
	for _, m := range j.Meta {
		if err := s.Meta().Add(m.Name, m.Content); err != nil {
			return err
		}
	}
	for _, p := range j.Chunks {
		if v := p.values(); v != nil {
			err = s.AppendBuffer(v)
		} else if b, cerr := p.chunk(&j.CParams); cerr != nil {
			err = cerr
		} else {
			err = s.AppendChunk(b)
		}
		if err != nil {
			return err
		}
	}
	for _, m := range j.VLMeta {
		if err := s.VLMeta().Add(m.Name, m.Content); err != nil {
			return err
		}
	}
	return nil
}

// servePeer writes the jobs that it reads, one per line, and answers each with a line.
func servePeer(in io.Reader, out io.Writer) int {
	lines := json.NewDecoder(in)
	for {
		var j job
		if err := lines.Decode(&j); err == io.EOF {
			return 0
		} else if err != nil {
			fmt.Fprintln(out, err)
			return 1
		}
		answer := "ok"
		if err := j.byLibrary(); err != nil {
			answer = err.Error()
		}
		fmt.Fprintln(out, answer)
	}
}

// peer is the process that runs servePeer.
type peer struct {
	in  *json.Encoder
	out *bufio.Reader
}

func startPeer(t testing.TB) *peer {
	t.Helper()
	cmd := testenv.Self()
	cmd.Env = append(os.Environ(), peerVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	return &peer{json.NewEncoder(in), bufio.NewReader(out)}
}

// write lets C-Blosc2 write j.
func (p *peer) write(t tester, j *job) {
	t.Helper()
	require.NoError(t, p.in.Encode(j))
	answer, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ok\n", answer)
}
