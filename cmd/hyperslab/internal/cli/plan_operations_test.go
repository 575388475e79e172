package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/plan"
)

// TestPlan_operations runs each operation with each kind of target, and compares the target with
// the source and with the output of the command that needs no plan.
func TestPlan_operations(t *testing.T) {
	t.Chdir(field(t))
	bucketFor(t, nil)
	do := func(t *testing.T, args ...string) string {
		t.Helper()
		stdout, stderr, code := run(args...)
		require.Zero(t, code, "%v: %s", args, stderr)
		return stdout
	}
	finish := func(t *testing.T, args ...string) (p plan.Plan) {
		t.Helper()
		file := strings.ReplaceAll(t.Name(), "/", "-") + ".json"
		out := do(t, append([]string{"plan", "-o", file, "--json", "--shard-bytes", "1KiB"}, args...)...)
		require.NoError(t, json.Unmarshal([]byte(out), &p))
		require.Equal(t, args[0], p.Operation)
		do(t, "work", file, "--all", "-q")
		do(t, "commit", file, "-q")
		return p
	}
	for _, test := range []struct {
		args []string // of plan
		like []string // the command without a plan; nil: there is none, or the target differs
	}{
		{[]string{"convert", "waves.b2nd", "c.h5:/x", "--compact", "--chunks", "5,30"}, []string{"convert", "waves.b2nd", "c1.h5:/x", "--chunks", "5,30"}},
		{[]string{"convert", "waves.b2nd", "v.h5:/x", "--chunks", "5,30"}, nil},
		{[]string{"convert", "waves.b2nd", "s.b2nd", "--sparse", "--chunks", "5,30"}, []string{"convert", "waves.b2nd", "s1.b2nd", "--sparse", "--chunks", "5,30"}},
		{[]string{"convert", "waves.b2nd", "f.caterva", "--exclude-unsupported"}, []string{"convert", "waves.b2nd", "f1.caterva", "--exclude-unsupported"}},
		{[]string{"repack", "waves.b2nd", "r.b2nd", "--codec", "lz4"}, []string{"convert", "waves.b2nd", "r1.b2nd", "--codec", "lz4"}},
		{[]string{"rechunk", "waves.b2nd", "k.b2nd", "--chunks", "20,1"}, []string{"convert", "waves.b2nd", "k1.b2nd", "--chunks", "20,1"}},
		{[]string{"copy", "waves.b2nd", "y.b2nd"}, []string{"convert", "waves.b2nd", "y1.b2nd"}},
		{[]string{"copy", "waves.b2nd", "s3://data/y.b2nd"}, nil},
		{[]string{"convert", "waves.b2nd", "s3://data/y.h5:/x", "--compact", "--chunks", "5,30"}, nil},
		{[]string{"convert", "waves.b2nd", "s3://data/s.b2nd", "--sparse"}, nil},
		{[]string{"rechunk", "s3://data/y.b2nd", "back.b2nd", "--chunks", "1,30"}, nil},
	} {
		t.Run(test.args[0]+" to "+test.args[2], func(t *testing.T) {
			p := finish(t, test.args...)
			require.Greater(t, p.Stages[0].Shards, int64(1))
			if !strings.HasSuffix(test.args[2], ".caterva") {
				do(t, "diff", "waves.b2nd", test.args[2], "--values-only")
			}
			if test.like == nil {
				return
			}
			do(t, append(test.like, "-q")...)
			want, _, _ := strings.Cut(test.like[2], ":")
			got, _, _ := strings.Cut(test.args[2], ":")
			if test.args[0] == "convert" && strings.HasSuffix(got, ".b2nd") {
				want, got = want+"/chunks.b2frame", got+"/chunks.b2frame"
			}
			a, err := os.ReadFile(want)
			require.NoError(t, err)
			b, err := os.ReadFile(got)
			require.NoError(t, err)
			require.Equal(t, a, b)
		})
	}
	result := func(t *testing.T, operation string) map[string]any {
		t.Helper()
		target := operation + "-result.json"
		finish(t, operation, "waves.b2nd", target)
		b, err := os.ReadFile(target)
		require.NoError(t, err)
		doc := make(map[string]any)
		require.NoError(t, json.Unmarshal(b, &doc))
		return doc
	}
	t.Run("stats", func(t *testing.T) {
		doc := result(t, "stats")
		var want map[string]any
		require.NoError(t, json.Unmarshal([]byte(do(t, "stats", "waves.b2nd", "--json")), &want))
		for _, key := range []string{"count", "min", "max", "mean", "std", "sum"} {
			require.Equal(t, want[key], doc[key], key)
		}
	})
	t.Run("verify", func(t *testing.T) {
		doc := result(t, "verify")
		require.Equal(t, 0.0, doc["corrupt"])
		require.Equal(t, 2.0, doc["chunks"])
	})
	t.Run("checksum", func(t *testing.T) {
		require.Len(t, result(t, "checksum")["sha256"], 64)
	})
	t.Run("flags of other targets", func(t *testing.T) {
		for _, args := range [][]string{
			{"convert", "waves.b2nd", "z.b2nd", "--compact"},
			{"stats", "waves.b2nd", "z.json", "--compact"},
			{"convert", "waves.b2nd", "s3://data/z.h5:/x"},
			{"convert", "waves.b2nd", "https://example.com/z.b2nd"},
		} {
			_, stderr, code := run(append([]string{"plan", "-o", "z-plan.json"}, args...)...)
			require.Equal(t, 2, code, stderr)
			require.NoFileExists(t, "z-plan.json")
		}
	})
}
