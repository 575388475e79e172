// Arrays whose chunks do not contain their values.

package b2ndmeta

import (
	"bytes"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/format"
)

// CheckStored returns format.ErrUnsupported if a fixed metalayer marks an array whose values are
// not in its chunks. name and content are those of a metalayer of a frame that contains an array.
//
// python-blosc2 stores a LazyExpr or LazyUDF as an array of zeros and computes the values from
// other arrays when it opens the file. A Proxy is a cache: chunks that it has not fetched yet are
// zeros. A program that reads only the chunks must refuse them all.
func CheckStored(name string, content []byte) error {
	kind := ""
	switch name {
	case "b2o":
		kind = objectKind(content)
	case "LazyArray":
		kind = "lazy array"
	case "proxy-source":
		kind = "proxy"
	default:
		return nil
	}
	return &format.Error{
		Format: "b2nd array", What: fmt.Sprintf("metalayer %q", name),
		Got: "a " + kind + ", whose values are not in the file", Want: "stored values", Err: format.ErrUnsupported,
	}
}

// objectKind returns the kind that the metalayer "b2o" contains: a MessagePack map with the key
// "kind" and a short string.
func objectKind(content []byte) string {
	_, value, found := bytes.Cut(content, []byte("\xa4kind"))
	if !found || len(value) == 0 || value[0]&0xe0 != 0xa0 || int(value[0]&0x1f) >= len(value) {
		return "computed object"
	}
	switch kind := string(value[1 : 1+value[0]&0x1f]); kind {
	case "lazyexpr":
		return "lazy expression"
	case "lazyudf":
		return "lazy function"
	case "c2array":
		return "remote array"
	default:
		return fmt.Sprintf("computed object %q", kind)
	}
}
