package plan_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/plan"
)

// BenchmarkPlan_Work_latency copies an array to a bucket with a latency for each request: with one
// worker process and with eight. The metric x-ideal is the time of eight workers divided by an
// eighth of the time of one; 1 is ideal. Without HYPERSLAB_ALL the latency is too short for it.
func BenchmarkPlan_Work_latency(b *testing.B) {
	latency := 2 * time.Millisecond
	if testenv.All() {
		latency = 100 * time.Millisecond
	}
	serve(b, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		time.Sleep(latency)
		next.ServeHTTP(w, r)
	})
	dir := b.TempDir()
	wave(b, dir+"/a.b2nd", floats([]int64{64, 32, 32}, []int64{1, 32, 32}))
	n := 0
	run := func(workers int) time.Duration {
		n++
		p, err := plan.New(b.Context(), "copy", dir+"/a.b2nd", fmt.Sprintf("s3://data/%d.b2nd", n), &plan.Options{ShardBytes: 4096, Workers: 1})
		require.NoError(b, err)
		require.Equal(b, int64(64), p.Stages[0].Shards)
		saved := save(b, p)
		begun := time.Now()
		var commands []*exec.Cmd
		for w := range workers {
			x := task{Plan: saved, Stage: 1}
			for shard := int64(w); shard < 64; shard += int64(workers) {
				x.Shards = append(x.Shards, shard)
			}
			cmd, _ := x.start(b)
			commands = append(commands, cmd)
		}
		for _, cmd := range commands {
			require.NoError(b, cmd.Wait(), fmt.Sprint(cmd.Stderr.(fmt.Stringer)))
		}
		took := time.Since(begun)
		require.NoError(b, p.Commit(b.Context(), nil))
		return took
	}
	var one, eight time.Duration
	for b.Loop() {
		one += run(1)
		eight += run(8)
	}
	b.ReportMetric(8*eight.Seconds()/one.Seconds(), "x-ideal")
	b.ReportMetric(one.Seconds()/float64(b.N), "s-1-worker")
	b.ReportMetric(eight.Seconds()/float64(b.N), "s-8-workers")
}
