package cblosc_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// record returns a record of a log, of unequal length.
func record(i int) []byte {
	return fmt.Appendf(nil, `{"id": %d, "user": "user-%d", "message": "%s", "level": "warning"}`, i, i*7919%1000, testutil.Ramp(i%40, uint64(i)))
}

func records(first, n int) *cblosc.Batch {
	b := new(cblosc.Batch)
	for i := range n {
		b.Append(record(first + i))
	}
	return b
}

// TestSChunk_records stores batches of records of unequal length in super-chunks, with and without
// a dictionary, and reads each by index. It also opens files again and reads them with
// python-blosc2.
func TestSChunk_records(t *testing.T) {
	const batches, each = 3, 400
	dir := t.TempDir()
	var files []string
	for _, kind := range []string{"memory", "frame in memory", "file", "directory"} {
		for _, tt := range []struct {
			codec cblosc.Codec
			dict  bool
		}{{cblosc.Zstd, false}, {cblosc.Zstd, true}, {cblosc.LZ4, true}, {cblosc.LZ4HC, true}} {
			t.Run(fmt.Sprintf("%s, %v, dictionary %v", kind, tt.codec, tt.dict), func(t *testing.T) {
				p, dict := cblosc.DefaultCParams(), tt.dict
				p.Codec, p.TypeSize, p.Dict = tt.codec, 1, dict
				c := newCompressor(t, p)
				plain := *p
				plain.Dict = false // chunks with a dictionary are made by a Compressor only
				st := cblosc.Storage{Contiguous: kind == "frame in memory" || kind == "file", CParams: &plain}
				if kind == "file" || kind == "directory" {
					st.Path = filepath.Join(dir, fmt.Sprintf("%s-%v-%v.b2frame", kind, tt.codec, dict))
				}
				s, err := cblosc.CreateSChunk(st)
				require.NoError(t, err)
				closing(t, s)
				for i := range batches {
					b, err := c.CompressVL(records(i*each, each))
					require.NoError(t, err)
					info, err := cblosc.Info(b)
					require.NoError(t, err)
					require.Equal(t, dict, info.Dict)
					require.NoError(t, s.AppendChunk(b))
				}
				check := func(s *cblosc.SChunk) {
					t.Helper()
					require.EqualValues(t, batches, s.NumChunks())
					for i := range batches * each {
						b, err := s.VLBlock(int64(i/each), i%each)
						require.NoError(t, err)
						require.Equal(t, string(record(i)), string(b))
					}
					_, err := s.VLBlock(1, each)
					require.ErrorIs(t, err, cblosc.ErrRegion)
					_, err = s.VLBlock(batches, 0)
					require.ErrorIs(t, err, cblosc.ErrRegion)
					refusesElements(t, s)
				}
				check(s)
				if st.Path == "" {
					return
				}
				again, err := cblosc.OpenSChunk(st.Path)
				require.NoError(t, err)
				closing(t, again)
				check(again)
				files = append(files, st.Path)
			})
		}
	}
	h := sha256.New()
	for i := range batches * each {
		h.Write(record(i))
	}
	want := hex.EncodeToString(h.Sum(nil))
	out := testutil.Python(t, []string{"blosc2"}, append([]string{"testdata/records.py", fmt.Sprint(each)}, files...)...)
	require.Equal(t, slices.Repeat([]string{want}, len(files)), strings.Fields(out), files)
}

// refusesElements checks that a super-chunk of records refuses the calls for elements.
func refusesElements(t *testing.T, s *cblosc.SChunk) {
	t.Helper()
	buf := make([]byte, 100)
	plain := compress(t, cparams(1), buf)
	for name, call := range map[string]func() error{
		"AppendBuffer":    func() error { return s.AppendBuffer(buf) },
		"AppendChunk":     func() error { return s.AppendChunk(plain) },
		"InsertChunk":     func() error { return s.InsertChunk(0, plain) },
		"UpdateChunk":     func() error { return s.UpdateChunk(0, plain) },
		"DeleteChunk":     func() error { return s.DeleteChunk(0) },
		"Reorder":         func() error { return s.Reorder([]int64{1, 0, 2}) },
		"WriteItems":      func() error { return s.WriteItems(buf, 0) },
		"ReadItems":       func() error { return s.ReadItems(buf, 0) },
		"ReadPoints":      func() error { return s.ReadPoints(buf[:1], []int64{0}) },
		"DecompressItems": func() error { return s.DecompressItems(buf, 0, 0) },
		"DecompressChunk": func() error { _, err := s.DecompressChunk(buf, 0); return err },
		"ChunksOfItems":   func() error { _, err := s.ChunksOfItems(0, 1); return err },
		"Copy": func() error {
			_, err := s.Copy(cblosc.Storage{})
			return err
		},
	} {
		err := call()
		require.Error(t, err, name)
		require.True(t, errors.Is(err, errors.ErrUnsupported) || errors.Is(err, cblosc.ErrReadOnly) || errors.Is(err, cblosc.ErrSize), "%s: %v", name, err)
	}
}

func TestSChunk_AppendChunk_mixed(t *testing.T) {
	c := newCompressor(t, cparams(1))
	batch, err := c.CompressVL(records(0, 3))
	require.NoError(t, err)
	s, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(1)})
	require.NoError(t, err)
	closing(t, s)
	require.NoError(t, s.AppendBuffer(make([]byte, 100)))
	require.ErrorIs(t, s.AppendChunk(batch), errors.ErrUnsupported)
	wide, err := cblosc.CreateSChunk(cblosc.Storage{CParams: cparams(4)})
	require.NoError(t, err)
	closing(t, wide)
	require.ErrorIs(t, wide.AppendChunk(batch), cblosc.ErrSize)
	require.NoError(t, wide.AppendBuffer(make([]byte, 100)))
	require.ErrorIs(t, s.AppendChunk(batch[:len(batch)-1]), cblosc.ErrFormat)
}

// TestCompressor_CompressVL_dictionary checks batches that a dictionary does not help, too.
func TestCompressor_CompressVL_dictionary(t *testing.T) {
	for _, codec := range []cblosc.Codec{cblosc.Zstd, cblosc.LZ4, cblosc.LZ4HC} {
		t.Run(codec.String(), func(t *testing.T) { checkRecords(t, codec) })
	}
}

func checkRecords(t *testing.T, codec cblosc.Codec) {
	p := cblosc.DefaultCParams()
	p.Codec, p.TypeSize, p.Dict = codec, 1, true
	c, d := newCompressor(t, p), newDecompressor(t)
	random := new(cblosc.Batch)
	for i := range 300 {
		random.Append(testutil.Noise(200+i, uint64(i)))
	}
	zeros := new(cblosc.Batch)
	zeros.Append(make([]byte, 50_000), make([]byte, 10))
	for _, tt := range []struct {
		name  string
		batch *cblosc.Batch
	}{{"one record", records(0, 1)}, {"few records", records(0, 7)}, {"random bytes", random}, {"zeros", zeros}, {"many records", records(0, 5000)}} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := c.CompressVL(tt.batch)
			require.NoError(t, err)
			got := new(cblosc.Batch)
			require.NoError(t, d.DecompressVL(got, b))
			require.Equal(t, tt.batch.Len(), got.Len())
			for i := range got.Len() {
				require.Equal(t, tt.batch.Item(i), got.Item(i))
				one, err := d.VLBlock(b, i)
				require.NoError(t, err)
				require.Equal(t, tt.batch.Item(i), one)
			}
		})
	}
}

// TestPool_records shares a dictionary among small records, on many goroutines.
func TestPool_records(t *testing.T) {
	for _, codec := range []cblosc.Codec{cblosc.Zstd, cblosc.LZ4, cblosc.LZ4HC} {
		t.Run(codec.String(), func(t *testing.T) {
			p := cblosc.DefaultCParams()
			p.Codec, p.TypeSize, p.Dict = codec, 1, true
			plain := *p
			plain.Dict = false
			pool, err := cblosc.NewPool(p, nil)
			require.NoError(t, err)
			without, err := newCompressor(t, &plain).CompressVL(records(0, 400))
			require.NoError(t, err)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					src := records(400*i, 400)
					b, err := pool.CompressVL(src)
					if err != nil || i == 0 && 3*len(b) > 2*len(without) {
						t.Errorf("%d bytes, without a dictionary %d: %v", len(b), len(without), err)
						return
					}
					got := new(cblosc.Batch)
					if err := pool.DecompressVL(got, b); err != nil || !bytes.Equal(src.Bytes(), got.Bytes()) {
						t.Errorf("batch %d differs: %v", i, err)
					}
					one, err := pool.VLBlock(b, 399)
					if err != nil || !bytes.Equal(src.Item(399), one) {
						t.Errorf("record of batch %d differs: %v", i, err)
					}
				})
			}
			all.Wait()
			require.NoError(t, pool.Close())
			_, err = pool.CompressVL(records(0, 9))
			require.ErrorIs(t, err, cblosc.ErrClosed)
			require.ErrorIs(t, pool.DecompressVL(new(cblosc.Batch), without), cblosc.ErrClosed)
			_, err = pool.VLBlock(without, 0)
			require.ErrorIs(t, err, cblosc.ErrClosed)
		})
	}
}
