// Archives of indexes: the metadata of all files of a directory in one file.

package remote

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// member is an index in an archive.
type member struct {
	*zip.File
	archive io.ReaderAt
	index   *index // nil before the first use
}

// archived reports whether a file begins as a ZIP archive.
func archived(f io.ReaderAt) bool {
	const entry, empty = "PK\x03\x04", "PK\x05\x06"
	magic := make([]byte, len(entry))
	_, err := f.ReadAt(magic, 0)
	return err == nil && (string(magic) == entry || string(magic) == empty)
}

// useArchive adds the indexes of an archive, which are read when their URLs are opened.
func (c *Client) useArchive(f *os.File, size int64, url string) error {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIndex, err)
	}
	switch url = cmp.Or(url, z.Comment); {
	case url == "":
		return fmt.Errorf("%w: it was made from a local directory, and has no URL", ErrIndex)
	case !strings.HasSuffix(url, "/") || strings.Contains(url, "?"):
		return fmt.Errorf("%w: URL of a directory: got %s, want a slash at the end, and no query", ErrIndex, Redact(url))
	}
	found := make(map[string]*member, len(z.File))
	for _, m := range z.File {
		if found[url+m.Name] != nil {
			return fmt.Errorf("%w: two indexes have the name %q", ErrIndex, m.Name)
		}
		if m.Method != zip.Store {
			return fmt.Errorf("%w: compression of %q: got method %d, want %d (stored)", ErrIndex, m.Name, m.Method, zip.Store)
		}
		found[url+m.Name] = &member{m, f, nil}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members == nil {
		c.members = make(map[string]*member)
	}
	for at, m := range found {
		delete(c.indexOf, at) // of an earlier call
		c.members[at] = m
	}
	c.archives = append(c.archives, f)
	return nil
}

// open reads the table of an index.
func (m *member) open() (*index, error) {
	at, err := m.DataOffset()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrIndex, err)
	}
	size := int64(min(m.CompressedSize64, 1<<62))
	x, err := readIndex(io.NewSectionReader(m.archive, at, size), size)
	if errors.Is(err, io.EOF) { // the archive is shorter
		err = fmt.Errorf("%w: %w", ErrIndex, err)
	}
	return x, err
}
