// Output that is written completely or not at all.

package shell

import (
	"bytes"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// spoolMemory is the number of bytes of a document that are kept in memory. The rest goes to an
// unnamed temporary file.
const spoolMemory = 16 << 20

// Spool collects a document, so that no part of it is written if it cannot be completed.
type Spool struct {
	head bytes.Buffer
	file *os.File
}

// Write implements io.Writer.
func (s *Spool) Write(b []byte) (int, error) {
	if s.file == nil && s.head.Len()+len(b) <= spoolMemory {
		return s.head.Write(b)
	}
	if s.file == nil {
		f, err := regularfile.Temp("")
		if err != nil {
			return 0, err
		}
		s.file = f
	}
	return s.file.Write(b)
}

// CopyTo writes the document.
func (s *Spool) CopyTo(w io.Writer) error {
	if _, err := w.Write(s.head.Bytes()); err != nil || s.file == nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(w, s.file)
	return err
}

// Close frees the temporary file.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
