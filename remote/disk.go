// The disk cache: blocks of objects with a strong ETag, in files that programs share.

package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// disk is the directory of a disk cache. Each version of an object has two files: NAME.data is as
// long as the object and has holes, and NAME.sums has one entry for each block. An entry is
// written after its block. Its checksum detects blocks that a crash or another program changed,
// which are fetched again.
type disk struct {
	dir  string
	most int64 // bytes of all files

	mu   sync.Mutex
	open map[string]int // handles by name
}

// newDisk returns the disk cache in a directory, which object creates. It returns nil for "".
func newDisk(dir string, most int64) *disk {
	if dir == "" {
		return nil
	}
	return &disk{dir: dir, most: most, open: make(map[string]int)}
}

const (
	dataSuffix = ".data"
	sumsSuffix = ".sums"
	sumSize    = 8 // bytes of an entry: CRC-32C of the block, and its complement
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// diskObject contains the blocks of one version. A nil diskObject is empty.
type diskObject struct {
	d          *disk
	name       string
	data, sums *os.File
}

// object opens the files of a version. It returns nil for a version without a strong ETag, because
// another content may have the same names.
func (d *disk) object(url string, v *version) (*diskObject, error) {
	if d == nil || !v.strong() || v.size == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache directory: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d", url, v.tag, v.size))
	x := &diskObject{d: d, name: hex.EncodeToString(sum[:16])}
	d.mu.Lock()
	d.open[x.name]++
	d.mu.Unlock()
	if err := d.makeRoom(); err != nil {
		d.release(x.name)
		return nil, err
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		d.release(x.name)
		return nil, fmt.Errorf("cache directory: %w", err)
	}
	defer root.Close()
	if x.data, err = root.OpenFile(x.name+dataSuffix, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		if x.sums, err = root.OpenFile(x.name+sumsSuffix, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			now := time.Now()
			err = errors.Join(x.data.Truncate(v.size), root.Chtimes(x.name+sumsSuffix, now, now))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cache directory: %w", err), x.close())
	}
	return x, nil
}

func (d *disk) release(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open[name]--; d.open[name] == 0 {
		delete(d.open, name)
	}
}

func (x *diskObject) close() error {
	if x == nil {
		return nil
	}
	x.d.release(x.name)
	var errs []error
	for _, f := range []*os.File{x.data, x.sums} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// entry returns the entry of a block with this content.
func entry(block []byte) (e [sumSize]byte) {
	sum := crc32.Checksum(block, castagnoli)
	binary.LittleEndian.PutUint32(e[:], sum)
	binary.LittleEndian.PutUint32(e[4:], ^sum)
	return e
}

// read fills block with a stored block. It returns false if that is missing or corrupt.
func (x *diskObject) read(block []byte, number int64) bool {
	if x == nil {
		return false
	}
	var e [sumSize]byte
	if _, err := x.sums.ReadAt(e[:], number*sumSize); err != nil || e == [sumSize]byte{} {
		return false
	}
	_, err := x.data.ReadAt(block, number<<blockShift)
	return err == nil && entry(block) == e
}

// write stores a block.
func (x *diskObject) write(block []byte, number int64) error {
	if x == nil {
		return nil
	}
	if _, err := x.data.WriteAt(block, number<<blockShift); err != nil {
		return err
	}
	e := entry(block)
	_, err := x.sums.WriteAt(e[:], number*sumSize)
	return err
}

// makeRoom deletes the versions that were opened longest ago until the files have at most d.most
// bytes. It does not delete versions that this client has open.
func (d *disk) makeRoom() error {
	type stored struct {
		name  string
		bytes int64
		used  time.Time
	}
	list, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("cache directory: %w", err)
	}
	found, total := map[string]*stored{}, int64(0)
	for _, e := range list {
		name, suffix, ok := strings.Cut(e.Name(), ".")
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() || "."+suffix != dataSuffix && "."+suffix != sumsSuffix {
			continue // another program deleted it, or it is not a file of the cache
		}
		s := found[name]
		if s == nil {
			s = &stored{name: name}
			found[name] = s
		}
		n := allocated(info)
		s.bytes += n
		total += n
		if "."+suffix == sumsSuffix {
			s.used = info.ModTime()
		}
	}
	var byAge []*stored
	for _, s := range found {
		byAge = append(byAge, s)
	}
	slices.SortFunc(byAge, func(a, b *stored) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range byAge {
		if total <= d.most {
			break
		}
		if d.open[s.name] > 0 {
			continue
		}
		for _, suffix := range []string{sumsSuffix, dataSuffix} {
			if err := os.Remove(filepath.Join(d.dir, s.name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cache directory: %w", err)
			}
		}
		total -= s.bytes
	}
	return nil
}
