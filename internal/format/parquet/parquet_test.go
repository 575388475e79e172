package parquet_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/parquet"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// fields decodes a structure of Thrift's compact protocol by the numbers of its fields.
func fields(t *testing.T, r *bytes.Reader) map[int64]any {
	out := make(map[int64]any)
	for last := int64(0); ; {
		b, err := r.ReadByte()
		require.NoError(t, err)
		if b == 0 {
			return out
		}
		if step := int64(b >> 4); step > 0 {
			last += step
		} else {
			last, err = binary.ReadVarint(r)
			require.NoError(t, err)
		}
		out[last] = field(t, r, b&15)
	}
}

func field(t *testing.T, r *bytes.Reader, kind byte) any {
	switch kind {
	case 5, 6:
		n, err := binary.ReadVarint(r)
		require.NoError(t, err)
		return n
	case 8:
		n, err := binary.ReadUvarint(r)
		require.NoError(t, err)
		s := make([]byte, n)
		_, err = r.Read(s)
		require.NoError(t, err)
		return string(s)
	case 9:
		head, err := r.ReadByte()
		require.NoError(t, err)
		n := uint64(head >> 4)
		if n == 15 {
			n, err = binary.ReadUvarint(r)
			require.NoError(t, err)
		}
		list := make([]any, n)
		for i := range list {
			list[i] = field(t, r, head&15)
		}
		return list
	case 12:
		return fields(t, r)
	}
	require.Fail(t, "kind of field", "%d", kind)
	return nil
}

// page returns the header of the page at an offset, its contents, and the offset of its end.
func page(t *testing.T, file []byte, at int64) (header map[int64]any, body []byte, end int64) {
	r := bytes.NewReader(file[at:])
	header = fields(t, r)
	begin := int64(len(file)) - int64(r.Len())
	end = begin + header[3].(int64)
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer z.Close()
	body, err = z.DecodeAll(file[begin:end], nil)
	require.NoError(t, err)
	require.Len(t, body, int(header[2].(int64)))
	return header, body, end
}

func TestWrite(t *testing.T) {
	url, other := []byte("https://host/x.h5"), []byte("y")
	columns := []parquet.Column{
		{Name: "path", Bytes: [][]byte{url, nil, url, other, nil}, Strings: true},
		{Name: "offset", Ints: []int64{1, 0, -5, 1 << 40, 7}},
		{Name: "raw", Bytes: [][]byte{nil, {0, 1, 255}, nil, {}, nil}},
	}
	var b bytes.Buffer
	require.NoError(t, parquet.Write(&b, 5, columns...))
	file := b.Bytes()

	t.Run("footer", func(t *testing.T) {
		require.Equal(t, "PAR1", string(file[:4]))
		require.Equal(t, "PAR1", string(file[len(file)-4:]))
		size := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
		r := bytes.NewReader(file[len(file)-8-size : len(file)-8])
		footer := fields(t, r)
		require.Zero(t, r.Len())
		require.Equal(t, int64(5), footer[3])
		schema := footer[2].([]any)
		require.Equal(t, map[int64]any{4: "schema", 5: int64(3)}, schema[0])
		require.Equal(t, map[int64]any{1: int64(6), 3: int64(1), 4: "path", 6: int64(0)}, schema[1])
		require.Equal(t, map[int64]any{1: int64(2), 3: int64(0), 4: "offset"}, schema[2])
		require.Equal(t, map[int64]any{1: int64(6), 3: int64(1), 4: "raw"}, schema[3])
		group := footer[4].([]any)[0].(map[int64]any)
		require.Equal(t, int64(5), group[3])
		begin, total := int64(4), int64(0)
		for i, x := range group[1].([]any) {
			chunk := x.(map[int64]any)[3].(map[int64]any)
			require.Equal(t, []any{columns[i].Name}, chunk[3])
			total += chunk[6].(int64)
			data := chunk[9].(int64)
			if columns[i].Strings {
				require.Equal(t, begin, chunk[11])
				header, body, end := page(t, file, begin)
				require.Equal(t, map[int64]any{1: int64(2), 2: int64(0)}, header[7])
				require.Equal(t, "\x11\x00\x00\x00https://host/x.h5\x01\x00\x00\x00y", string(body))
				require.Equal(t, end, data)
			} else {
				require.Equal(t, begin, data)
			}
			header, body, end := page(t, file, data)
			require.Equal(t, int64(5), header[5].(map[int64]any)[1])
			require.Equal(t, end, begin+chunk[7].(int64))
			begin = end
			switch columns[i].Name {
			case "path": // levels 1 0 1 1 0, and the dictionary's indexes 0 0 1
				require.Equal(t, []byte{8, 0, 0, 0, 2, 1, 2, 0, 4, 1, 2, 0, 1, 4, 0, 2, 1}, body)
			case "offset":
				want, err := binary.Append(nil, binary.LittleEndian, columns[i].Ints)
				require.NoError(t, err)
				require.Equal(t, want, body)
				require.Equal(t, map[int64]any{3: int64(0)}, chunk[12])
			case "raw":
				require.Equal(t, []byte{10, 0, 0, 0, 2, 0, 2, 1, 2, 0, 2, 1, 2, 0, 3, 0, 0, 0, 0, 1, 255, 0, 0, 0, 0}, body)
			}
		}
		require.Equal(t, total, group[2])
		require.Equal(t, int64(len(file)-8-size), begin)
	})
	t.Run("different lengths", func(t *testing.T) {
		require.ErrorIs(t, parquet.Write(&b, 4, columns...), parquet.ErrColumn)
	})
	t.Run("writer that fails", func(t *testing.T) {
		for n := range len(file) {
			require.ErrorIs(t, parquet.Write(&short{n}, 5, columns...), errShort)
		}
	})
	t.Run("other libraries", func(t *testing.T) {
		if !testenv.All() {
			t.Skip("only with HYPERSLAB_ALL=1: the libraries need 2 s to start")
		}
		python := testenv.RemotePython(t, "pyarrow", "fastparquet", "pandas")
		dir := t.TempDir()
		many := 70_000 // more values than a dictionary's index of 2 bytes can number
		paths := make([][]byte, many)
		ints := make([]int64, many)
		for i := range paths {
			if i%7 > 0 {
				paths[i] = fmt.Appendf(nil, "päth%d", i)
			}
			ints[i] = int64(i) << 30
		}
		var large bytes.Buffer
		require.NoError(t, parquet.Write(&large, many, parquet.Column{Name: "path", Bytes: paths, Strings: true}, parquet.Column{Name: "offset", Ints: ints}))
		for name, content := range map[string][]byte{"small": file, "large": large.Bytes()} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
		const script = `import json, sys, warnings
import pandas as pd
warnings.simplefilter("ignore")
for engine in ["pyarrow", "fastparquet"]:
    d = pd.read_parquet(sys.argv[1] + "/small", engine=engine)
    path = [x if isinstance(x, str) else None for x in d["path"]]
    assert d["offset"].dtype == "int64"
    print(json.dumps([path, d["offset"].tolist(), [x if x is None else list(x) for x in d["raw"]]]))
    d = pd.read_parquet(sys.argv[1] + "/large", engine=engine)
    assert d["offset"].tolist() == [i << 30 for i in range(70000)]
    assert [x if isinstance(x, str) else None for x in d["path"]] == [f"päth{i}" if i % 7 else None for i in range(70000)]
`
		out, err := exec.Command(python, "-c", script, dir).CombinedOutput()
		require.NoError(t, err, string(out))
		d := json.NewDecoder(bytes.NewReader(out))
		for range 2 {
			var got any
			require.NoError(t, d.Decode(&got))
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, `[["https://host/x.h5",null,"https://host/x.h5","y",null],[1,0,-5,1099511627776,7],[null,[0,1,255],null,[],null]]`, string(text))
		}
	})
}

var errShort = fmt.Errorf("short")

// short is a writer that fails after n bytes.
type short struct{ n int }

func (w *short) Write(b []byte) (int, error) {
	n := min(len(b), w.n)
	w.n -= n
	if n < len(b) {
		return n, errShort
	}
	return n, nil
}
