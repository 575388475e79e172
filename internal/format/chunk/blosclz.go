// Decoder of BloscLZ streams.

package chunk

// blosclz decodes the BloscLZ stream src into dst and returns the number of bytes written. If the
// stream is corrupt, the result is -1 or less than len(dst). It does not access memory outside src
// and dst.
//
// The format has no specification. This description follows blosclz.c of C-Blosc2, and tests
// compare the decoder with its output. A stream is a sequence of instructions. The top three bits
// of the first byte select the instruction (those of the very first byte of a stream are flags and
// count as 0):
//
//	000LLLLL             L+1 literal bytes follow
//	LLLDDDDD d           copy of L+2 bytes from a distance of D<<8 + d + 1
//	111DDDDD l… d        as above, with L = 7 + the sum of l…; a byte of l below
//	                     255 is the last
//	LLL11111 l… 255 h d  as above, from a distance of 8192 + h<<8 + d
//
// The source of a copy may overlap its destination: a distance of 1 repeats a byte.
func blosclz(dst, src []byte) int {
	const farBase = 8192 // distances below have the short form
	op, ip := 0, 0
	for ip < len(src) {
		ctrl := int(src[ip])
		if ip == 0 {
			ctrl &= 31
		}
		ip++
		if ctrl < 32 {
			n := ctrl + 1
			if n > len(src)-ip || n > len(dst)-op {
				return -1
			}
			copy(dst[op:], src[ip:ip+n])
			op, ip = op+n, ip+n
			continue
		}
		n := ctrl>>5 + 2
		if n == 9 {
			for {
				if ip >= len(src) {
					return -1
				}
				l := int(src[ip])
				ip++
				n += l
				if l != 255 {
					break
				}
			}
		}
		if ip >= len(src) {
			return -1
		}
		distance := (ctrl&31)<<8 + int(src[ip]) + 1
		ip++
		if distance == farBase {
			if len(src)-ip < 2 {
				return -1
			}
			distance = farBase + int(src[ip])<<8 + int(src[ip+1])
			ip += 2
		}
		if distance > op || n > len(dst)-op {
			return -1
		}
		copyMatch(dst, op, distance, n)
		op += n
	}
	return op
}

// copyMatch copies n bytes from a distance back. If source and destination overlap, each round
// doubles the number of bytes that it can copy.
func copyMatch(dst []byte, op, distance, n int) {
	from := op - distance
	for n > 0 {
		k := copy(dst[op:op+n], dst[from:op])
		op, n = op+k, n-k
	}
}
