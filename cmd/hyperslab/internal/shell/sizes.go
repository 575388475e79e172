// Bytes of files on disk.

package shell

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
)

// PathBytes is the size of a file, or of all files in a directory. Symbolic links to files count as
// the files that they lead to, because the array formats read through them.
func PathBytes(name string) (total int64, err error) {
	root, err := filepath.EvalSymlinks(name) // WalkDir does not follow a link to a directory
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if d.Type()&os.ModeSymlink != 0 {
			info, err = os.Stat(path)
		}
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// UnfinishedBytes returns the bytes of all unfinished outputs so far.
func UnfinishedBytes() (total int64) {
	list := atomicfile.Unfinished()
	for _, file := range list {
		if slices.Contains(list, filepath.Dir(file)) { // in the directory of an upload
			continue
		}
		n, _ := PathBytes(file) // 0 for a file that is just being created or moved
		total += n
	}
	return total
}

// MadeBytes returns a function that returns the size of a target so far, minus the bytes that it
// had before.
func MadeBytes(target string, before int64) func() int64 {
	return func() int64 {
		n := UnfinishedBytes()
		if n == 0 { // target is complete
			n, _ = PathBytes(target)
		}
		return max(n-before, 0)
	}
}
