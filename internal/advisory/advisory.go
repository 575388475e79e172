// The list of vulnerabilities, and the comparison of releases.

package advisory

import (
	"slices"
	"strconv"
	"strings"
)

// Names of the libraries.
const (
	HDF5    = "HDF5"
	CBlosc2 = "C-Blosc2"
	LZ4     = "LZ4"
	Zlib    = "Zlib"
	Zstd    = "Zstd"
)

// Advisory is one published vulnerability.
type Advisory struct {
	ID      string // "CVE-2024-29157"
	Library string // for a codec, the name that C-Blosc2 uses
	Fixed   string // the first release without the vulnerability; "" if there is no such release yet
}

// Known returns all advisories, grouped by library and sorted by number.
func Known() []Advisory { return slices.Clone(known) }

// Open returns the advisories that affect a release of a library.
func Open(library, release string) []Advisory {
	return slices.DeleteFunc(Known(), func(a Advisory) bool {
		return a.Library != library || a.Fixed != "" && compare(release, a.Fixed) >= 0
	})
}

// compare orders releases by their numbers. A part that is not a number counts as 0.
func compare(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if n, m := number(x, i), number(y, i); n != m {
			return n - m
		}
	}
	return 0
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := strings.IndexFunc(parts[i], func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(parts[i])
	}
	n, _ := strconv.Atoi(parts[i][:digits])
	return n
}

// known omits vulnerabilities of the libraries' tools, and those that HDF5 2.2.0, C-Blosc2 3.3 or
// the codecs of 2018 had already fixed, because older versions do not compile. Where sources
// differ, the later release is used. Last compared with the sources in November 2026.
var known = slices.Concat(
	numbers(CBlosc2, 2026, "3.5.0", 122330),
	numbers(HDF5, 2026, "", 19024, 19025, 19026, 19027, 19028, 19029),
	numbers(HDF5, 2026, "", 120756),
	numbers(LZ4, 2019, "1.9.2", 17543),
	numbers(LZ4, 2021, "1.9.4", 3520),
	numbers(Zlib, 2018, "1.2.12", 25032),
	numbers(Zlib, 2022, "1.2.13", 37434),
	numbers(Zlib, 2026, "1.3.2", 27171), // in crc32_combine, which this module does not call
	numbers(Zstd, 2019, "1.3.8", 11922),
)

func numbers(library string, year int, fixed string, ids ...int) []Advisory {
	list := make([]Advisory, len(ids))
	for i, id := range ids {
		list[i] = Advisory{ID: "CVE-" + strconv.Itoa(year) + "-" + strconv.Itoa(id), Library: library, Fixed: fixed}
	}
	return list
}
