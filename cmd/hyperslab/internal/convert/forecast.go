// Estimates of size and time for many arrays in a dry run, from samples of some of them.

package convert

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// forecastBytes is the total size of the samples of all arrays. Further arrays are assumed to be
// similar.
const forecastBytes = 64 << 20

// forecast adds up the estimates of arrays.
type forecast struct {
	jobs   int
	memory int64

	left    int64         // bytes of samples that can still be taken
	sampled int64         // bytes of the elements of the sampled arrays
	stored  int64         // … their estimated stored bytes
	took    time.Duration // … and the estimated time
	rest    int64         // bytes of the elements of further arrays
	plain   int64         // … of arrays that cannot be measured
}

func newForecast(jobs int, memory int64) *forecast {
	return &forecast{jobs: jobs, memory: memory, left: forecastBytes}
}

// add takes a sample of arr, which is to be stored as spec describes.
func (f *forecast) add(ctx context.Context, arr *ndarray.Array, spec ndarray.Spec, format hyperslab.Format) error {
	n := arr.NBytes()
	if f.left <= 0 {
		f.rest += n
		return nil
	}
	stored, took, ok, err := f.estimate(ctx, arr, spec, format)
	if err != nil {
		return err
	}
	if !ok {
		f.plain += n
		return nil
	}
	f.left -= min(n, estimateBytes)
	f.sampled, f.stored, f.took = f.sampled+n, f.stored+stored, f.took+took
	return nil
}

// addAt takes a sample of the array at an address.
func (f *forecast) addAt(ctx context.Context, a *shell.App, address string, spec ndarray.Spec, format hyperslab.Format) (err error) {
	arr, err := a.OpenArray(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	shown := arr
	if k := arr.DType().Kind; k == ndarray.String || k == ndarray.Unicode { // the target may store another type
		if shown, err = textview.New(arr, spec.DType); err != nil {
			return err
		}
	}
	return f.add(ctx, shown, spec, format)
}

// total returns the estimated size and time for all arrays.
func (f *forecast) total() (stored int64, took time.Duration) {
	scale := 1.0
	if f.sampled > 0 {
		scale += float64(f.rest) / float64(f.sampled)
	}
	return int64(float64(f.stored)*scale) + f.plain, time.Duration(float64(f.took) * scale)
}

// estimateText returns, for example, "about 44.8 KiB in 12ms".
func estimateText(bytes shell.JSONInt, s shell.JSONFloat) string {
	took := time.Duration(float64(s) * float64(time.Second))
	return fmt.Sprintf("about %s in %v", term.FormatBytes(int64(bytes)), took.Round(time.Millisecond))
}

// estimateRow formats an estimate as a row of a plan, with size and time in separate columns.
func estimateRow(text string) []string {
	size, took, _ := strings.Cut(text, " in ")
	return []string{"estimate", size, "in " + took}
}
