// Progress of a recovery, in passes through the corrupt file. The number of passes is not known in
// advance.

package recovery

import (
	"encoding/binary"
	"io"
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

// A worker sends its progress through a pipe: two 64-bit integers per message, at most about 256
// messages per total.
const tidings = 16

// telling returns a progress function that writes to w.
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
		_, _ = w.Write(b[:]) // the recovery continues if the host has closed the pipe
	}
}

// hear reads the progress messages of r until it ends, and calls the function with each. It ignores
// invalid messages, because the worker is untrusted.
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
