package plan_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// small returns a plan of four shards with the first n of them done.
func small(t testing.TB, n int64) (p *plan.Plan, dir string) {
	t.Helper()
	dir = t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{8, 8, 8}, []int64{2, 8, 8}))
	p, err := plan.New(t.Context(), "copy", dir+"/a.b2nd", dir+"/out.b2nd", &plan.Options{ShardBytes: 512, Workers: 1})
	require.NoError(t, err)
	require.Equal(t, int64(4), p.Stages[0].Shards)
	for i := range n {
		_, err := p.Work(t.Context(), 1, i, nil)
		require.NoError(t, err)
	}
	return p, dir
}

// requireUnchanged calls f and checks that it changes no file.
func requireUnchanged(t testing.TB, dir string, want error, f func() error) {
	t.Helper()
	before := content(t, dir)
	err := f()
	require.ErrorIs(t, err, want)
	var e *ndarray.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Path)
	require.Equal(t, before, content(t, dir))
}

func TestPlan_Work_errors(t *testing.T) {
	work := func(t testing.TB, p *plan.Plan, stage int, shard int64) func() error {
		return func() error {
			done, err := p.Work(t.Context(), stage, shard, nil)
			require.False(t, done)
			return err
		}
	}
	t.Run("source with another time", func(t *testing.T) {
		p, dir := small(t, 1)
		require.NoError(t, os.Chtimes(dir+"/a.b2nd", time.Time{}, time.Now().Add(time.Hour)))
		requireUnchanged(t, dir, plan.ErrSource, work(t, p, 1, 2))
	})
	t.Run("source with another attribute", func(t *testing.T) {
		p, dir := small(t, 1)
		info, err := os.Stat(dir + "/a.b2nd")
		require.NoError(t, err)
		a, err := hyperslab.Open(t.Context(), dir+"/a.b2nd", &hyperslab.OpenOptions{Write: true})
		require.NoError(t, err)
		require.NoError(t, a.SetAttr(t.Context(), ndarray.Attr{Name: "units", Value: ndarray.Text("k")}))
		require.NoError(t, a.Close())
		require.NoError(t, os.Chtimes(dir+"/a.b2nd", info.ModTime(), info.ModTime()))
		requireUnchanged(t, dir, plan.ErrSource, work(t, p, 1, 2))
	})
	t.Run("shard out of range", func(t *testing.T) {
		p, dir := small(t, 1)
		requireUnchanged(t, dir, plan.ErrShard, work(t, p, 1, 4))
		requireUnchanged(t, dir, plan.ErrShard, work(t, p, 1, -1))
		requireUnchanged(t, dir, plan.ErrShard, work(t, p, 2, 0))
		requireUnchanged(t, dir, plan.ErrShard, work(t, p, 0, 0))
	})
	t.Run("altered plan", func(t *testing.T) {
		p, dir := small(t, 1)
		p.Stages[0].Shard[0] = 4
		requireUnchanged(t, dir, plan.ErrPlan, work(t, p, 1, 0))
	})
	t.Run("receipt of another shard", func(t *testing.T) {
		p, dir := small(t, 1)
		b, err := os.ReadFile(dir + "/out.b2nd.parts/1-000000000.json")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir+"/out.b2nd.parts/1-000000001.json", b, 0o666))
		requireUnchanged(t, dir, plan.ErrReceipt, work(t, p, 1, 1))
	})
	t.Run("receipt of another plan", func(t *testing.T) {
		p, dir := small(t, 1)
		_, other := small(t, 2)
		b, err := os.ReadFile(other + "/out.b2nd.parts/1-000000001.json")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(dir+"/out.b2nd.parts/1-000000001.json", b, 0o666))
		requireUnchanged(t, dir, plan.ErrReceipt, work(t, p, 1, 1))
	})
	t.Run("second plan for the target", func(t *testing.T) {
		p, dir := small(t, 1)
		other, err := plan.New(t.Context(), "copy", dir+"/a.b2nd", dir+"/out.b2nd", &plan.Options{ShardBytes: 1024})
		require.NoError(t, err)
		require.NotEqual(t, p.ID, other.ID)
		requireUnchanged(t, dir, plan.ErrTarget, work(t, other, 1, 0))
		requireUnchanged(t, dir, plan.ErrTarget, func() error { return other.Commit(t.Context(), nil) })
	})
	t.Run("second stage before the first", func(t *testing.T) {
		dir := t.TempDir()
		wave(t, dir+"/a.b2nd", floats([]int64{16, 16, 16}, []int64{1, 16, 16}))
		p := planned(t, "rechunk", dir+"/a.b2nd", dir+"/out.b2nd", func(s *ndarray.Spec) { s.ChunkShape = []int64{16, 2, 2} }, plan.Options{ShardBytes: 1024})
		require.Len(t, p.Stages, 2)
		_, err := p.Work(t.Context(), 1, 0, nil)
		require.NoError(t, err)
		requireUnchanged(t, dir, plan.ErrIncomplete, work(t, p, 2, 0))
		requireUnchanged(t, dir, plan.ErrIncomplete, func() error { return p.Commit(t.Context(), nil) })
	})
	t.Run("too many workers", func(t *testing.T) {
		p, dir := small(t, 1)
		requireUnchanged(t, dir, ndarray.ErrParam, func() error {
			_, err := p.Work(t.Context(), 1, 2, &plan.WorkOptions{Workers: 2})
			return err
		})
	})
	t.Run("shard with a receipt", func(t *testing.T) {
		p, dir := small(t, 1)
		before := content(t, dir)
		done, err := p.Work(t.Context(), 1, 0, nil)
		require.False(t, done)
		require.NoError(t, err)
		require.Equal(t, before, content(t, dir))
	})
}

func TestPlan_Commit_errors(t *testing.T) {
	commit := func(p *plan.Plan, t testing.TB) func() error {
		return func() error { return p.Commit(t.Context(), nil) }
	}
	t.Run("missing shards", func(t *testing.T) {
		p, dir := small(t, 3)
		requireUnchanged(t, dir, plan.ErrIncomplete, commit(p, t))
		p, dir = small(t, 0)
		requireUnchanged(t, dir, plan.ErrIncomplete, commit(p, t))
	})
	t.Run("changed source", func(t *testing.T) {
		p, dir := small(t, 4)
		require.NoError(t, os.Chtimes(dir+"/a.b2nd", time.Time{}, time.Now().Add(time.Hour)))
		requireUnchanged(t, dir, plan.ErrSource, commit(p, t))
	})
	t.Run("corrupt receipt", func(t *testing.T) {
		for _, damage := range []func(b []byte) []byte{
			func(b []byte) []byte { return b[:len(b)/2] },
			func(b []byte) []byte { return []byte(strings.Replace(string(b), `"bytes":`, `"bytes":1`, 1)) },
			func(b []byte) []byte { return append(b, "{}"...) },
			func([]byte) []byte { return nil },
			func(b []byte) []byte { return []byte(strings.Replace(string(b), `"part":"`, `"part":"../`, 1)) },
		} {
			p, dir := small(t, 4)
			file := dir + "/out.b2nd.parts/1-000000002.json"
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, damage(b), 0o666))
			requireUnchanged(t, dir, plan.ErrReceipt, commit(p, t))
		}
	})
	t.Run("part of another shard", func(t *testing.T) {
		p, dir := small(t, 4)
		named := func(shard int) (file string, doc map[string]any, digest string) {
			file = fmt.Sprintf("%s/out.b2nd.parts/1-%09d.json", dir, shard)
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(b, &doc))
			return file, doc, doc["digest"].(string)
		}
		_, other, _ := named(1)
		file, own, digest := named(2)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		text := string(b)
		for _, key := range []string{"part", "sha256"} {
			text = strings.Replace(text, own[key].(string), other[key].(string), 1)
		}
		text = strings.Replace(text, fmt.Sprintf(`"bytes": %v`, own["bytes"]), fmt.Sprintf(`"bytes": %v`, other["bytes"]), 1)
		text = strings.Replace(text, fmt.Sprintf(`"bytes":%v`, own["bytes"]), fmt.Sprintf(`"bytes":%v`, other["bytes"]), 1)
		sum := sha256.Sum256([]byte(strings.Replace(text, digest, "", 1)))
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(text, digest, hex.EncodeToString(sum[:]), 1)), 0o666))
		requireUnchanged(t, dir, plan.ErrReceipt, commit(p, t))
		require.ErrorContains(t, commit(p, t)(), "part: got 1-000000001-")
	})
	t.Run("changed part", func(t *testing.T) {
		for _, damage := range []func(file string) error{
			func(file string) error { return os.Truncate(file, 100) },
			func(file string) error {
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				b[len(b)/2] ^= 1
				return os.WriteFile(file, b, 0o666)
			},
			os.Remove,
		} {
			p, dir := small(t, 4)
			parts, err := filepath.Glob(dir + "/out.b2nd.parts/1-000000002-*")
			require.NoError(t, err)
			require.Len(t, parts, 1)
			require.NoError(t, damage(parts[0]))
			requireUnchanged(t, dir, plan.ErrReceipt, commit(p, t))
		}
	})
	t.Run("target with other elements", func(t *testing.T) {
		p, dir := small(t, 4)
		wave(t, dir+"/out.b2nd", floats([]int64{8, 8, 9}, []int64{2, 8, 8}))
		requireUnchanged(t, dir, ndarray.ErrExists, commit(p, t))
		require.NoError(t, os.WriteFile(dir+"/out.b2nd", []byte("no array"), 0o666))
		requireUnchanged(t, dir, ndarray.ErrExists, commit(p, t))
	})
	t.Run("target with other elements and no files of the plan", func(t *testing.T) {
		p, dir := small(t, 4)
		require.NoError(t, commit(p, t)())
		require.NoError(t, os.RemoveAll(dir+"/out.b2nd"))
		wave(t, dir+"/out.b2nd", floats([]int64{8, 8, 9}, []int64{2, 8, 8}))
		requireUnchanged(t, dir, ndarray.ErrExists, commit(p, t))
	})
	t.Run("stopped after the target was published", func(t *testing.T) {
		p, dir := small(t, 4)
		require.NoError(t, os.CopyFS(dir+"/kept", os.DirFS(dir+"/out.b2nd.parts")))
		require.NoError(t, p.Commit(t.Context(), nil))
		before := content(t, dir+"/out.b2nd")
		require.NoError(t, os.Rename(dir+"/kept", dir+"/out.b2nd.parts"))
		require.NoError(t, p.Commit(t.Context(), nil))
		require.Equal(t, before, content(t, dir+"/out.b2nd"))
		require.NoDirExists(t, dir+"/out.b2nd.parts")
	})
}

func TestNew_errors(t *testing.T) {
	dir := t.TempDir()
	wave(t, dir+"/a.b2nd", floats([]int64{8, 8, 8}, []int64{2, 8, 8}))
	text, err := hyperslab.Create(t.Context(), dir+"/text.b2nd", ndarray.Spec{Shape: []int64{3}, DType: ndarray.DType{Kind: ndarray.Bytes, Size: 3, Order: ndarray.NoOrder}}, nil)
	require.NoError(t, err)
	require.NoError(t, text.Commit(t.Context()))
	one, err := hyperslab.Create(t.Context(), dir+"/one.b2nd", ndarray.Spec{DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, one.Commit(t.Context()))
	for _, test := range []struct {
		name, operation, src, dst string
		options                   plan.Options
		want                      error
	}{
		{"existing target", "copy", "a.b2nd", "a.b2nd", plan.Options{}, ndarray.ErrExists},
		{"missing source", "copy", "b.b2nd", "c.b2nd", plan.Options{}, ndarray.ErrNotFound},
		{"elements without a sum", "stats", "text.b2nd", "c.json", plan.Options{}, ndarray.ErrType},
		{"statistics of a scalar", "stats", "one.b2nd", "c.json", plan.Options{}, errors.ErrUnsupported},
		{"copy of a scalar", "copy", "one.b2nd", "c.b2nd", plan.Options{}, errors.ErrUnsupported},
		{"unknown operation", "shrink", "a.b2nd", "c.b2nd", plan.Options{}, ndarray.ErrParam},
		{"HDF5 file without an array", "convert", "a.b2nd", "c.h5", plan.Options{}, ndarray.ErrParam},
		{"unsupported target", "convert", "a.b2nd", "c.bcolz", plan.Options{}, errors.ErrUnsupported},
		{"negative memory", "copy", "a.b2nd", "c.b2nd", plan.Options{Memory: -1}, ndarray.ErrParam},
		{"chunks of another rank", "verify", "a.b2nd", "c.json", plan.Options{Chunks: []int64{1}}, ndarray.ErrParam},
		{"chunks of length 0", "verify", "a.b2nd", "c.json", plan.Options{Chunks: []int64{1, 0, 1}}, ndarray.ErrParam},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireUnchanged(t, dir, test.want, func() error {
				_, err := plan.New(t.Context(), test.operation, dir+"/"+test.src, dir+"/"+test.dst, &test.options)
				return err
			})
		})
	}
}

// TestParse_errors changes each key of a plan, and its bytes.
func TestParse_errors(t *testing.T) {
	p, _ := small(t, 0)
	b, err := p.Encode()
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(b, &keys))
	for key := range keys {
		t.Run("changed "+key, func(t *testing.T) {
			var doc map[string]any
			require.NoError(t, json.Unmarshal(b, &doc))
			switch v := doc[key].(type) {
			case string:
				doc[key] = v + "0"
			case float64:
				doc[key] = v + 1
			case nil:
				doc[key] = []string{"convert"}
			default:
				doc[key] = nil
			}
			changed, err := json.Marshal(doc)
			require.NoError(t, err)
			_, err = plan.Parse(changed)
			require.ErrorIs(t, err, plan.ErrPlan)
		})
	}
	for name, text := range map[string]string{
		"empty": "", "truncated": string(b[:len(b)-2]), "unknown key": `{"more":1,` + string(b[1:]), "two documents": string(b) + string(b),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := plan.Parse([]byte(text))
			require.ErrorIs(t, err, plan.ErrPlan)
		})
	}
}

func FuzzParse(f *testing.F) {
	p, _ := small(f, 0)
	b, err := p.Encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"schema":"hyperslab.plan/1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := plan.Parse(b)
		if err != nil {
			require.ErrorIs(t, err, plan.ErrPlan)
			return
		}
		again, err := p.Encode()
		require.NoError(t, err)
		_, err = plan.Parse(again)
		require.NoError(t, err)
	})
}
