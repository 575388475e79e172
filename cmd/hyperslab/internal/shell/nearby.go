// Suggestions for addresses that lead to no file.

package shell

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
)

// otherAddress returns a line that suggests an address like one whose file does not exist: with
// closed brackets, with brackets of another kind, or of a file with a similar name; "" without one.
func otherAddress(location string) string {
	for _, try := range []func(string) string{closedSelection, otherBrackets, fieldOfFile, similarFile} {
		if meant := try(location); meant != "" {
			return "did you mean " + shellword.Quote(meant) + "?"
		}
	}
	return ""
}

// isFile reports whether the file of a location exists.
func isFile(location string) bool {
	_, ok := existing(location)
	return ok
}

// closedSelection returns the address with both brackets of its selection, if one is missing.
func closedSelection(address string) string {
	if at := strings.Index(address, "["); at > 0 {
		if part := address[at+1:]; isFile(address[:at]) && !strings.Contains(part, "]") {
			return address[:at] + "[" + strings.TrimRight(part, ")}") + "]"
		}
		return ""
	}
	if !strings.HasSuffix(address, "]") {
		return ""
	}
	for at := len(address) - 1; at > 0; at-- {
		if isFile(address[:at]) {
			return address[:at] + "[" + address[at:]
		}
	}
	return ""
}

// otherBrackets returns the address with square brackets instead of others.
func otherBrackets(address string) string {
	at := strings.IndexAny(address, "({")
	if at <= 0 || !strings.HasSuffix(address, ")") && !strings.HasSuffix(address, "}") || !isFile(address[:at]) {
		return ""
	}
	return address[:at] + "[" + address[at+1:len(address)-1] + "]"
}

// fieldOfFile returns FILE[...].FIELD for FILE.FIELD.
func fieldOfFile(address string) string {
	at := strings.LastIndex(address, ".")
	if at <= 0 || !isFile(address[:at]) || filepath.Ext(address[:at]) == "" || strings.ContainsAny(address[at:], "/[]:") {
		return ""
	}
	if _, known := NamedFormat(address); known {
		return address[:at] // the extension is doubled
	}
	return address[:at] + "[...]" + address[at:]
}

// similarFile returns the address of a file in the same directory with a similar name.
func similarFile(address string) string {
	loc, err := locate.Parse(address)
	if err != nil || loc.File == "" {
		return ""
	}
	dir, name := filepath.Split(loc.File)
	list, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil || len(list) > mostSearched {
		return ""
	}
	best, least := "", min(max(len(name)/4, 1), 3)+1
	for _, e := range list {
		d := editDistance(strings.ToLower(name), strings.ToLower(e.Name()))
		if d < least && !strings.HasPrefix(e.Name(), ".") {
			best, least = e.Name(), d
		}
	}
	if best == "" {
		return ""
	}
	loc.File = dir + best
	return loc.String()
}

// schemes are the beginnings of the URLs that are read.
const schemes = "a URL begins with https://, http:// or s3://"

// urlAdvice returns advice for a name that resembles a URL; "" for any other name.
func urlAdvice(location string) string {
	scheme, rest, ok := strings.Cut(location, ":/")
	rest = strings.TrimPrefix(rest, "/")
	switch known := slices.Contains([]string{"http", "https", "s3"}, strings.ToLower(scheme)); {
	case ok && known && rest != "":
		return "did you mean " + shellword.Quote(strings.ToLower(scheme)+"://"+rest) + "?"
	case ok && known, strings.Contains(location, "://"):
		return schemes
	}
	host, _, more := strings.Cut(location, "/")
	if more && strings.Contains(strings.Trim(host, "."), ".") && !strings.Contains(host, ":") && !IsDirectory(host) {
		return "check the name of the file; " + schemes + ", for example " + shellword.Quote("https://"+location)
	}
	return ""
}

// foreign returns advice for data of other programs that are not read; "" for any other file.
func foreign(name string) string {
	if IsDirectory(name) {
		for _, file := range []string{"zarr.json", ".zgroup", ".zarray"} {
			if _, err := os.Stat(filepath.Join(name, file)); err == nil {
				return "this is a Zarr store, which hyperslab does not read"
			}
		}
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.ReadAt(head, 0)
	switch string(head[:n]) {
	case "PK\x03\x04":
		return "this is a zip archive; unpack it: the .npy files of an .npz are arrays"
	case "CDF\x01", "CDF\x02", "CDF\x05":
		return "this is a netCDF 3 file, which hyperslab does not read; nccopy -k nc4 writes it as HDF5"
	case "\x1f\x8b\x08\x00", "\x1f\x8b\x08\x08":
		return "this is a gzip archive; unpack it with gzip -d"
	}
	return ""
}
