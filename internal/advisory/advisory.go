// The list, and the comparison of releases.

package advisory

import (
	"slices"
	"strconv"
	"strings"
)

// The libraries.
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
	Library string // a codec's is the name that C-Blosc2 has for it
	Fixed   string // the first release without it; "" while there is none
}

// Known returns all of them, those of one library together, by number.
func Known() []Advisory { return slices.Clone(known) }

// Open returns those that a release of a library has.
func Open(library, release string) []Advisory {
	return slices.DeleteFunc(Known(), func(a Advisory) bool {
		return a.Library != library || a.Fixed != "" && compare(release, a.Fixed) >= 0
	})
}

// compare orders releases by their numbers; what is no number counts as 0.
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

// What was fixed before HDF5 1.14.0 and C-Blosc2 2.14, of which none older can be linked, is not
// listed, nor what was fixed in the codecs before 2018, nor what only the tools of a library have. Where
// sources differ the later release is taken.
// Seen last in November 2026.
var known = slices.Concat(
	numbers(CBlosc2, 2024, "2.14.3", 3203, 3204),
	numbers(CBlosc2, 2025, "2.17.1", 29476),
	numbers(CBlosc2, 2026, "3.5.0", 122330),
	numbers(HDF5, 2016, "1.14.3", 4332),
	numbers(HDF5, 2017, "1.14.4", 17507),
	numbers(HDF5, 2018, "1.14.3", 11202),
	numbers(HDF5, 2018, "1.14.1", 11205, 13866),
	numbers(HDF5, 2018, "1.14.3", 13867, 13871, 15671),
	numbers(HDF5, 2020, "1.14.1", 18494),
	numbers(HDF5, 2021, "1.14.1", 37501),
	numbers(HDF5, 2024, "1.14.4", 29157, 29158, 29159, 29160, 29161, 29162, 29163, 29164, 29165, 29166,
		32605, 32606, 32607, 32608, 32609, 32610, 32611, 32612, 32613, 32614, 32615, 32616, 32617, 32618, 32619, 32620, 32621, 32622, 32623, 32624,
		33873, 33874, 33875, 33876, 33877),
	numbers(HDF5, 2025, "2.0.0", 2153, 2310, 2912, 2913, 2914, 2915, 2923, 2924, 2925, 2926),
	numbers(HDF5, 2025, "2.1.0", 2308, 2309),
	numbers(HDF5, 2025, "2.0.0", 6269, 6270, 6516, 6750, 6816, 6817, 6818, 6856, 6857, 6858, 7067, 7068, 7069),
	numbers(HDF5, 2025, "2.2.0", 9274),
	numbers(HDF5, 2025, "2.1.0", 44904),
	numbers(HDF5, 2025, "2.0.0", 44905),
	numbers(HDF5, 2026, "2.2.0", 17572, 17573, 17574),
	numbers(HDF5, 2026, "", 19024, 19025, 19026, 19027, 19028, 19029),
	numbers(HDF5, 2026, "2.1.0", 26197, 26199),
	numbers(HDF5, 2026, "2.0.0", 26200),
	numbers(HDF5, 2026, "1.14.2", 29043),
	numbers(HDF5, 2026, "2.2.0", 106547),
	numbers(HDF5, 2026, "", 120756),
	numbers(LZ4, 2019, "1.9.2", 17543),
	numbers(LZ4, 2021, "1.9.4", 3520),
	numbers(Zlib, 2018, "1.2.12", 25032),
	numbers(Zlib, 2022, "1.2.13", 37434),
	numbers(Zlib, 2026, "1.3.2", 27171), // in crc32_combine, which nothing here calls
	numbers(Zstd, 2019, "1.3.8", 11922),
)

func numbers(library string, year int, fixed string, ids ...int) []Advisory {
	list := make([]Advisory, len(ids))
	for i, id := range ids {
		list[i] = Advisory{ID: "CVE-" + strconv.Itoa(year) + "-" + strconv.Itoa(id), Library: library, Fixed: fixed}
	}
	return list
}
