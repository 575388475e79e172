// Features of the HDF5 format that the vectors contain. The Go reader counts them in the files, so
// the counts do not depend on the options given to the library.

package crosscheck

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// featureFields are the fields whose value distinguishes kinds of a structure.
var featureFields = map[string]bool{
	"version": true, "version number": true, "layout class": true, "chunk indexing type": true, "link type": true, "node type": true, "type": true,
	"filter identification value": true, "class and version": true, "space allocation time": true, "fill value write time": true, "fill value defined": true,
	"size of offsets": true, "size of lengths": true,
}

// hdf5Features counts the valid files that contain each structure, each message, and each value of
// the fields above.
func hdf5Features(dir string, cases []Case) (map[string]int, error) {
	count := make(map[string]int)
	seen := make(map[string]bool)
	for _, c := range cases {
		if c.Area != "hdf5" || c.Must != Accept || seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Path)))
		if err != nil {
			return nil, err
		}
		held := make(map[string]bool)
		collectFeatures(h5file.Describe(bytes.NewReader(b), int64(len(b))), "", held)
		for name := range held {
			count[name]++
		}
	}
	return count, nil
}

func collectFeatures(f format.Field, in string, held map[string]bool) {
	for _, part := range f.Fields {
		name := strings.TrimSpace(indexes.ReplaceAllString(" "+part.Name, ""))
		if name == "message" && part.Value != "" {
			name = "message " + part.Value
		}
		if len(part.Fields) > 0 {
			held[name] = true
			collectFeatures(part, name, held)
			continue
		}
		if !featureFields[name] || strings.HasPrefix(part.Value, "0x") && part.Meaning == "" {
			continue // the type number of a message, which its name replaces
		}
		value := part.Value
		if part.Meaning != "" {
			value = part.Meaning
		}
		held[in+": "+name+" "+value] = true
	}
}
