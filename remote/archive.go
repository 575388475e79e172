// Archives of indexes: the metadata of all files of a directory in one file.

package remote

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	neturl "net/url"
	"os"
	"strings"
	"weak"
)

// member is an index in an archive.
type member struct {
	*zip.File
	archive io.ReaderAt
	index   weak.Pointer[index]
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
	base, found := memberKey(url), make(map[string]*member, len(z.File))
	for _, m := range z.File {
		key := base + m.Name
		if found[key] != nil {
			return fmt.Errorf("%w: two indexes have the name %q", ErrIndex, m.Name)
		}
		if m.Method != zip.Store {
			return fmt.Errorf("%w: compression of %q: got method %d, want %d (stored)", ErrIndex, m.Name, m.Method, zip.Store)
		}
		found[key] = &member{File: m, archive: f}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members == nil {
		c.members = make(map[string]*member)
	}
	for key, m := range found {
		c.members[key] = m
	}
	for url := range c.indexOf { // of earlier calls
		if found[memberKey(url)] != nil {
			delete(c.indexOf, url)
		}
	}
	c.archives = append(c.archives, f)
	return nil
}

// memberKey returns the key of a file: its URL without a query, and with the path as it is before
// it is escaped, because an archive contains the names of files.
func memberKey(url string) string {
	u, err := neturl.Parse(url)
	if err != nil {
		file, _, _ := strings.Cut(url, "?")
		return file
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + u.Path
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
