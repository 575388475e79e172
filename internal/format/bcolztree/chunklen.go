// Automatic chunk length, by the rule of bcolz.

package bcolztree

// AutoChunkLen returns the number of rows that bcolz puts into a chunk of an array with expectedLen
// expected rows of rowBytes bytes (utils.calc_chunksize and carray). For example, a chunk has 16
// KiB for arrays up to 0.1 KiB, 256 KiB for 1 MiB, and 4 MiB from 10 GiB on. The size doubles for
// every factor of ten. A chunk has at least one row.
func AutoChunkLen(expectedLen, rowBytes int64) int64 {
	mb := float64(expectedLen) * float64(rowBytes) / (1 << 20)
	mb = min(max(mb, 1e-4), 1e4)
	// This is Python's int(math.log10(mb)), which truncates. It compares powers because logarithms
	// of them are inexact in Go.
	zone := 0
	for p := 10.0; p <= mb; p *= 10 {
		zone++
	}
	for _, p := range []float64{1e-1, 1e-2, 1e-3, 1e-4} {
		if mb <= p {
			zone--
		}
	}
	return max(4096<<(zone+6)/max(rowBytes, 1), 1)
}
