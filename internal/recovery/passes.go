// Progress of a recovery, in passes through the corrupt file. The number of passes is not known in
// advance.

package recovery

import (
	"io/fs"
	"os"
)

// passes counts the processed bytes of the corrupt file.
type passes struct {
	tell  func(done, total int64) // may be nil
	done  int64
	end   int64 // done at the end of the current pass
	total int64 // sum of all passes known so far
}

// begin ends the previous pass and begins a pass of n bytes. Passes of "later" bytes are expected
// to follow.
func (p *passes) begin(n, later int64) {
	p.done = p.end
	p.end += n
	p.total = max(p.total, p.end+later)
	p.more(0)
}

// more reports n more bytes.
func (p *passes) more(n int64) {
	p.done = min(p.done+n, p.end)
	if p.tell != nil {
		p.tell(p.done, p.total)
	}
}

// over ends the last pass. Expected passes that were not needed count as done.
func (p *passes) over() {
	p.done, p.end = p.total, p.total
	p.more(0)
}

// bytesOf returns the size of a file, or of all files in a directory.
func bytesOf(path string) (n int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return info.Size(), nil
	}
	err = fs.WalkDir(os.DirFS(path), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return err
	})
	return n, err
}
