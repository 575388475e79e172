// How far the work is: some passes through the damaged file, of which the first does not
// know whether there will be more.

package salvage

import (
	"encoding/binary"
	"io"
	"io/fs"
	"os"
)

// passes counts bytes of the damaged file.
type passes struct {
	tell  func(done, total int64) // nil for nobody
	done  int64
	end   int64 // of the pass that is on
	total int64 // of all that are known of
}

// begin ends the pass before and begins one through n bytes, behind which others will
// follow through later bytes.
func (p *passes) begin(n, later int64) {
	p.done = p.end
	p.end += n
	p.total = max(p.total, p.end+later)
	p.more(0)
}

// more tells of n bytes more.
func (p *passes) more(n int64) {
	p.done = min(p.done+n, p.end)
	if p.tell != nil {
		p.tell(p.done, p.total)
	}
}

// over ends the last pass: those that were expected beyond were not needed.
func (p *passes) over() {
	p.done, p.end = p.total, p.total
	p.more(0)
}

// bytesOf is the size of a file, or of all the files in a directory.
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

// A worker tells how far it is through a pipe: two numbers of eight bytes, at most some
// hundred times.
const tidings = 16

// telling makes a function that writes to w.
func telling(w io.Writer) func(done, total int64) {
	last := int64(-1)
	return func(done, total int64) {
		if last >= 0 && done < total && done-last < total/256 {
			return
		}
		last = done
		var b [tidings]byte
		binary.LittleEndian.PutUint64(b[:], uint64(done))
		binary.LittleEndian.PutUint64(b[8:], uint64(total))
		_, _ = w.Write(b[:]) // a host that does not listen is none of the work's business
	}
}

// hear passes on what comes from r, until it ends. It may be anything.
func hear(r io.Reader, tell func(done, total int64)) {
	var b [tidings]byte
	most := int64(0)
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return // the worker has ended
		}
		done, total := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
		if done >= most && done <= total {
			most = done
			tell(done, total)
		}
	}
}
