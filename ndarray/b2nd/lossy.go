// Filters and codecs that can change values.

package b2nd

import "github.com/hyperslab/hyperslab/cblosc"

// lossyFilter returns the first filter or the codec of p that can store other values than it is
// given, or "". TruncPrec and IntTrunc set bits to zero and do not change values that they have
// changed before. NDMean and ZFP can. Data that cannot be compressed is stored without filters, so
// that each of them can change an element when another element of its chunk is written. At level 0
// no filter runs. Filters and codecs written in Go restore the data (cblosc.UserCodec).
func lossyFilter(p *cblosc.CParams) string {
	if p.Level == 0 {
		return ""
	}
	for _, f := range p.Filters {
		switch f.ID {
		case cblosc.TruncPrec, cblosc.IntTrunc, cblosc.NDMean:
			return f.String()
		}
	}
	switch p.Codec {
	case cblosc.ZFPAccuracy, cblosc.ZFPPrecision, cblosc.ZFPRate:
		return p.Codec.String()
	}
	return ""
}

// Lossy implements ndarray.LossyWriter.
func (b *backend) Lossy() (filter string, allowed bool) { return b.lossy, b.allowLossy }

// Rewrites reports whether a larger shape begins inside chunks, whose elements after the old end
// may have to be written.
func (b *backend) Rewrites(shape []int64) bool {
	for i, c := range b.meta.ChunkShape {
		if c > 0 && shape[i] > b.meta.Shape[i] && b.meta.Shape[i]%c != 0 {
			return true
		}
	}
	return false
}

// Lossy returns the filter or codec that would change values if the array was open for writing.
func (r *reader) Lossy() (filter string, allowed bool) {
	if r.frame == nil {
		return "", false
	}
	return lossyFilter(&r.frame.Header().CParams), false
}

// Rewrites returns false, because a reader changes nothing.
func (r *reader) Rewrites([]int64) bool { return false }
