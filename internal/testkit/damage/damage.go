// Bit flips, cuts, and filled and swapped blocks.

package damage

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// block is the maximum number of bytes that are replaced or swapped.
const block = 16

// File changes the file at path, or one file of the directory at path: it cuts the end, fills or
// swaps blocks, or flips a bit. It returns a description. An empty file does not change.
func File(path string, random *rand.Rand) (string, error) {
	var files []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("damage %s: got no file, want at least one", path)
	}
	file := files[random.IntN(len(files))]
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		return "an empty file", err
	}
	b, what := change(b, random)
	if file != path {
		what = strings.TrimPrefix(file, path+string(filepath.Separator)) + ": " + what
	}
	return what, os.WriteFile(file, b, 0o600)
}

// change returns changed bytes and a description. It may change b, which is not empty.
func change(b []byte, random *rand.Rand) ([]byte, string) {
	at := random.IntN(len(b))
	n := min(len(b)-at, block)
	switch random.IntN(6) {
	case 0:
		return b[:at], fmt.Sprintf("cut at byte %d", at)
	case 1:
		for i := range n {
			b[at+i] = byte(random.Uint32())
		}
		return b, fmt.Sprintf("%d bytes from byte %d", n, at)
	case 2:
		other := random.IntN(len(b) - n + 1)
		first := bytes.Clone(b[at : at+n])
		copy(b[at:at+n], b[other:other+n])
		copy(b[other:other+n], first)
		return b, fmt.Sprintf("%d bytes from byte %d swapped with byte %d", n, at, other)
	default:
		bit := random.IntN(8)
		b[at] ^= 1 << bit
		return b, fmt.Sprintf("bit %d of byte %d", bit, at)
	}
}
