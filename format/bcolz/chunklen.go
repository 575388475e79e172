// The length of chunks, by bcolz's own rule.

package bcolz

// AutoChunkLen is the number of rows that bcolz puts into a chunk of an array of
// which expectedLen rows of rowBytes bytes are expected (utils.calc_chunksize and
// carray): 16 KiB for up to a tenth of a KiB, 256 KiB for a MiB, 4 MiB for 10 GiB
// and more, in steps of a decade; at least one row.
func AutoChunkLen(expectedLen, rowBytes int64) int64 {
	mb := float64(expectedLen) * float64(rowBytes) / (1 << 20)
	mb = min(max(mb, 1e-4), 1e4)
	// Python's int(math.log10(mb)): towards zero. The powers are compared, since
	// logarithms of them are a little off in Go.
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
