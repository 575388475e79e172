package h5_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestMixedOperations performs up to 100,000 operations of every kind on one file from 64
// goroutines. Some handles are never closed, and the garbage collector runs. Every result must be
// correct, and no id may stay open.
func TestMixedOperations(t *testing.T) {
	total := 100_000
	if !testenv.All() {
		total = 19_200
	}
	const workers = 64
	before := openIDs(t)
	f := newFile(t)
	var wg sync.WaitGroup
	failed := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			if err := mixed(f, w, total/workers); err != nil {
				failed <- fmt.Errorf("worker %d: %w", w, err)
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	require.NoError(t, f.Close())
	runtime.GC()
	require.Equal(t, before, openIDs(t))
}

// mixed performs n operations in a group of its own and in the shared one.
func mixed(f *h5.File, w, n int) error {
	rng := rand.New(rand.NewPCG(uint64(w), 1))
	r := f.Root()
	g, err := r.CreateGroup(fmt.Sprintf("g%02d", w))
	if err != nil {
		return err
	}
	values := map[string]int64{}
	for i := 0; i < n; i++ {
		name := fmt.Sprintf("d%d", rng.IntN(8))
		want, there := values[name]
		switch rng.IntN(9) {
		case 0, 1:
			if there {
				i-- // nothing was done in this round
				continue
			}
			d, err := g.CreateDataset(name, h5.Int(8, h5.LittleEndian), h5.SimpleSpace(4), nil)
			if err != nil {
				return err
			}
			v := rng.Int64()
			if err := h5value.Write(d, []int64{v, v, v, v}, h5.All); err != nil {
				return err
			}
			values[name] = v
			if rng.IntN(3) > 0 { // otherwise it is never closed
				if err := d.Close(); err != nil {
					return err
				}
			}
		case 2:
			if !there {
				i--
				continue
			}
			d, err := g.OpenDataset(name)
			if err != nil {
				return err
			}
			got, err := h5value.ReadAll[int64](d)
			if err != nil || len(got) != 4 || got[3] != want {
				return fmt.Errorf("%s: %v, %w", name, got, err)
			}
		case 3:
			if has, err := g.HasLink(name); err != nil || has != there {
				return fmt.Errorf("%s: link %v, %w", name, has, err)
			}
		case 4:
			links := 0
			for _, err := range g.Links() {
				if err != nil {
					return err
				}
				links++
			}
			if links != len(values) {
				return fmt.Errorf("%d links, want %d", links, len(values))
			}
		case 5:
			if !there {
				i--
				continue
			}
			if err := g.Unlink(name); err != nil {
				return err
			}
			delete(values, name)
		case 6:
			if err := r.LinkSoft(fmt.Sprintf("s%02d.%d", w, i), g.Path()); err != nil {
				return err
			}
		case 7:
			if err := h5value.WriteAttr(g, "a", []int32{int32(i)}); err != nil {
				return err
			}
			if got, err := h5value.ReadAttr[int32](g, "a"); err != nil || got[0] != int32(i) {
				return fmt.Errorf("attribute %v, %w", got, err)
			}
		default:
			if w == 0 && i%50 == 0 {
				runtime.GC()
			}
			if _, err := g.Stat(); err != nil {
				return err
			}
		}
	}
	return nil
}
