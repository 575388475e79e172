package bcolz_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// operation is ["append", hex of rows], ["trim", number of rows to remove] or ["resize", rows].
type operation [2]any

// job describes one array that both this package and bcolz create.
type job struct {
	Name        string      `json:"name"`
	DType       string      `json:"dtype"`
	Row         []int64     `json:"row"`
	First       string      `json:"first"` // hex
	ChunkLen    int64       `json:"chunklen"`
	ExpectedLen int64       `json:"expectedlen"`
	Quantize    int         `json:"quantize"`
	Ops         []operation `json:"ops"`
}

// TestInteropOperations checks that any sequence of append, trim and resize leaves the same files
// as bcolz, for random values of expectedlen, chunklen and quantize. Chunk files outside the array
// are ignored, because bcolz does not delete them. At level 0 the values of the chunks and the
// metadata must be identical byte for byte.
func TestInteropOperations(t *testing.T) {
	interpreter := testenv.Python(t, "bcolz")
	dir := testenv.Scratch(t)
	r := rand.New(rand.NewPCG(6, 6))
	var jobs []job
	for i := range 60 {
		j := job{Name: fmt.Sprintf("%02d", i), DType: []string{"<i4", "|u1", ">f8", "|S3", "<f4", "<f8", "<f2"}[i%7], Row: [][]int64{{}, {}, {2}}[i%3], ChunkLen: r.Int64N(6)}
		if strings.Contains(j.DType, "f") && j.DType[0] == '<' {
			j.Quantize = i % 5
		}
		d := parse(t, j.DType)
		row := d.Size
		for _, n := range j.Row {
			row *= int(n)
		}
		rows := func(n int) string { return hex.EncodeToString(values(r, d, n*row)) }
		n := r.IntN(8) + 1
		j.First = rows(n)
		j.ExpectedLen = int64(n) + r.Int64N(1000)
		for range r.IntN(6) {
			switch r.IntN(3) {
			case 0:
				more := r.IntN(9) + 1
				j.Ops = append(j.Ops, operation{"append", rows(more)})
				n += more
			case 1:
				less := r.IntN(n)
				if less == 0 {
					continue
				}
				j.Ops = append(j.Ops, operation{"trim", less})
				n -= less
			case 2:
				n = r.IntN(20) + 1
				j.Ops = append(j.Ops, operation{"resize", n})
			}
		}
		jobs = append(jobs, j)
		ours(t, filepath.Join(dir, j.Name), j, d, int64(row))
	}
	text, err := json.Marshal(jobs)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.json"), text, 0o666))
	out, err := exec.Command(interpreter, "testdata/interop_ops.py", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "60 jobs")

	for _, j := range jobs {
		mine, theirs := filepath.Join(dir, j.Name), filepath.Join(dir, j.Name+".theirs")
		what := fmt.Sprintf("%+v", j)
		shrinks := slices.ContainsFunc(j.Ops, func(op operation) bool { return op[0] != "append" })
		for _, file := range []string{bcolztree.StorageFile, bcolztree.SizesFile, bcolztree.AttrsFile} {
			want, err := os.ReadFile(filepath.Join(theirs, file))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(mine, file))
			require.NoError(t, err)
			if file == bcolztree.SizesFile && shrinks {
				want, got = withoutCBytes(t, want), withoutCBytes(t, got)
			}
			require.Equal(t, string(want), string(got), "%s of %s", file, what)
		}
		a, b := open(t, mine), open(t, theirs)
		if a.NBytes() > 0 {
			require.Equal(t, readAll(t, b), readAll(t, a), what)
		}
		require.NoError(t, errors.Join(a.Close(), b.Close()))
		tree, err := bcolztree.ReadArray(os.DirFS(theirs), ".", nil)
		require.NoError(t, err)
		names, err := fs.Glob(os.DirFS(mine), "data/*")
		require.NoError(t, err)
		require.Len(t, names, int(tree.NumFiles()), what)
		for i := range tree.NumFiles() {
			info, err := os.Stat(filepath.Join(theirs, tree.FileName(i)))
			require.NoError(t, err)
			own, err := os.Stat(filepath.Join(mine, tree.FileName(i)))
			require.NoError(t, err)
			require.Equal(t, info.Size(), own.Size(), "%s of %s", tree.FileName(i), what)
		}
	}
}

// withoutCBytes returns meta/sizes without the compressed size. bcolz subtracts bytes there that it
// never added when an array becomes shorter, so its number is wrong.
func withoutCBytes(t *testing.T, b []byte) []byte {
	t.Helper()
	head, _, ok := strings.Cut(string(b), ` "cbytes"`)
	require.True(t, ok, "%s", b)
	return []byte(head)
}

// values returns n random bytes that are valid elements of the type. They contain no NaN, because
// arithmetic may change its bits, and no strings with trailing zeros.
func values(r *rand.Rand, d ndarray.DType, n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += d.Size {
		x := (r.Float64() - 0.5) * math.Pow(10, float64(r.IntN(4)))
		switch {
		case d.Kind == ndarray.Float && d.Size == 8 && d.Order == '<':
			binary.LittleEndian.PutUint64(b[i:], math.Float64bits(x))
		case d.Kind == ndarray.Float && d.Size == 4:
			binary.LittleEndian.PutUint32(b[i:], math.Float32bits(float32(x)))
		case d.Kind == ndarray.Float && d.Size == 2:
			binary.LittleEndian.PutUint16(b[i:], uint16(r.IntN(0x3c00))|uint16(r.IntN(2))<<15)
		default:
			for k := range d.Size {
				b[i+k] = 'a' + byte(r.IntN(26))
			}
		}
	}
	return b
}

// ours runs a job with this package.
func ours(t *testing.T, path string, j job, d ndarray.DType, row int64) {
	t.Helper()
	rows := func(text string) []byte {
		b, err := hex.DecodeString(text)
		require.NoError(t, err)
		d.ToNative(b)
		return b
	}
	first := rows(j.First)
	spec := ndarray.Spec{Shape: append([]int64{int64(len(first)) / row}, j.Row...), DType: d, Compression: &ndarray.Compression{Codec: "lz4"}}
	if j.ChunkLen > 0 {
		spec.ChunkShape = append([]int64{j.ChunkLen}, j.Row...)
	}
	b, err := bcolz.Create(path, spec, &bcolz.CreateOptions{ExpectedLen: j.ExpectedLen, Quantize: j.Quantize})
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, first, ndarray.Whole(spec.Shape), 0))
	require.NoError(t, b.Close())
	b, err = bcolz.Open(path, &bcolz.OpenOptions{Write: true})
	require.NoError(t, err)
	for _, op := range j.Ops {
		shape := append([]int64{}, b.Meta().Shape...)
		switch op[0] {
		case "append":
			err = b.(ndarray.Appender).Append(bg, rows(op[1].(string)))
		case "trim":
			shape[0] -= int64(op[1].(int))
			err = b.(ndarray.Resizer).Resize(bg, shape)
		case "resize":
			shape[0] = int64(op[1].(int))
			err = b.(ndarray.Resizer).Resize(bg, shape)
		}
		require.NoError(t, err, "%v", op)
	}
	require.NoError(t, b.Close())
}

// appendEnv makes the test binary append records until it is killed.
const appendEnv = "HYPERSLAB_TEST_APPEND"

// batch is the number of records in each append of that process.
const batch = 17

var sequence = ndarray.StructOf(false,
	ndarray.Field{Name: "n", Type: ndarray.DTypeOf[int64]()}, ndarray.Field{Name: "square", Type: ndarray.SubArrayOf(ndarray.DTypeOf[int64](), 2)})

func appendForEver(path string) error {
	r, err := bcolz.OpenRecords(path, &bcolz.OpenOptions{Write: true})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for n := r.Meta().Shape[0]; ; n += batch {
		var b []byte
		for i := n; i < n+batch; i++ {
			for _, x := range []int64{i, i * i, -i} {
				b = binary.NativeEndian.AppendUint64(b, uint64(x))
			}
		}
		if err := r.(ndarray.Appender).Append(context.Background(), b); err != nil {
			return err
		}
	}
}

// TestKilledAppend checks that a ctable contains all records of whole appends and no others after
// the appending process is killed at any time. This must hold for the next reader, for the next
// writer, and for bcolz.
func TestKilledAppend(t *testing.T) {
	path := filepath.Join(testenv.Scratch(t), "table")
	b, err := bcolz.CreateRecords(path, ndarray.Spec{Shape: []int64{0}, ChunkShape: []int64{5}, DType: sequence}, nil)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	r := rand.New(rand.NewPCG(1, 2))
	last := int64(0)
	for round := range 25 {
		cmd := testenv.Self()
		cmd.Env = append(os.Environ(), appendEnv+"="+path)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 16)) // wait until the process has opened the table
		require.NoError(t, err, "round %d", round)
		time.Sleep(time.Duration(r.IntN(20_000)) * time.Microsecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait(), "it ends by the signal alone")

		a := openRecords(t, path)
		n := a.Shape()[0]
		require.Zero(t, n%batch, "round %d", round)
		require.GreaterOrEqual(t, n, last, "round %d", round)
		data := readAll(t, a)
		for i := range n {
			rec := data[i*24:]
			for k, want := range []int64{i, i * i, -i} {
				require.Equal(t, want, int64(binary.NativeEndian.Uint64(rec[8*k:])), "round %d, record %d", round, i)
			}
		}
		require.NoError(t, a.Close())
		last = n
	}
	require.Positive(t, last)
	interpreter := testenv.Python(t, "bcolz")
	code := `
import bcolz, sys
t = bcolz.ctable(rootdir=sys.argv[1], mode="r")
n = len(t)
assert n == int(sys.argv[2]), n
assert t["n"][:n].tolist() == list(range(n))
assert t["square"][:n].tolist() == [[i * i, -i] for i in range(n)]
`
	out, err := exec.Command(interpreter, "-c", code, path, fmt.Sprint(last)).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
