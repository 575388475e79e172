// Data of the vectors, identical on every machine and in every version.

package crosscheck

import (
	"encoding/binary"
	"math"
)

// Kinds of data. Each exercises other parts of a codec: a ramp makes filters effective, random
// bytes cannot be compressed, runs make special blocks and streams.
var seriesNames = []string{"ramp", "random", "runs", "text", "constant", "wave"}

// ofType makes data valid elements of a dtype: booleans are 0 or 1.
func ofType(data []byte, dtype string) []byte {
	if dtype == "|b1" {
		for i := range data {
			data[i] &= 1
		}
	}
	return data
}

// series returns n bytes of data: elements of size bytes.
func series(kind string, seed uint64, n, size int) []byte {
	b := make([]byte, n)
	g := generator(seed)
	switch kind {
	case "ramp":
		for i := 0; i < n; i += size {
			putInt(b[i:min(i+size, n)], uint64(i/size)*3)
		}
	case "random":
		for i := range b {
			b[i] = byte(g.next() >> 33)
		}
	case "runs": // long runs of zeros, of other bytes, and a few elements between
		for i := 0; i < n; {
			v, run := byte(0), int(g.next()>>33%3000)
			if g.next()>>40&1 == 1 {
				v = byte(g.next() >> 50)
			}
			for ; run > 0 && i < n; run-- {
				b[i] = v
				i++
			}
			for k := g.next() >> 33 % 40; k > 0 && i < n; k-- {
				b[i] = byte(g.next() >> 41)
				i++
			}
		}
	case "text":
		words := []string{"chunk ", "block ", "stream ", "filter ", "codec ", "shuffle ", "hyperslab ", "dataspace ", "\n"}
		for i := 0; i < n; {
			i += copy(b[i:], words[g.next()>>33%uint64(len(words))])
		}
	case "constant":
		for i := 0; i < n; i += size {
			putInt(b[i:min(i+size, n)], 0x0807060504030201)
		}
	case "wave": // floats if elements can be floats, otherwise bytes of a slow wave
		for i := 0; i < n; i += size {
			// A triangle instead of a sine, because its values are the same on every machine.
			k := i / size % 2000
			v := float64(min(k, 2000-k)) / 64
			e := b[i:min(i+size, n)]
			switch size {
			case 4:
				put(e, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))))
			case 8:
				put(e, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
			default:
				for j := range e {
					e[j] = byte(k/8 + j)
				}
			}
		}
	default:
		panic("crosscheck: no series " + kind)
	}
	return b
}

func putInt(e []byte, v uint64) { put(e, binary.LittleEndian.AppendUint64(nil, v)) }

// put copies the little-endian v into the element e. If e is shorter, the high bytes of v are left
// out; if e is longer, its other bytes stay zero.
func put(e, v []byte) { copy(e, v) }

// generator is splitmix64, because its sequence is defined, while those of a standard library may
// change.
type generator uint64

func (g *generator) next() uint64 {
	*g += 0x9E3779B97F4A7C15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
