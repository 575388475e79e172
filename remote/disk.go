// The disk cache: blocks of objects with a strong ETag, in files that programs share.

package remote

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
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
// written after its block. It authenticates the block, its number and NAME with the key, so that a
// block that a crash, another program or another user changed is fetched again.
type disk struct {
	dir  string
	most int64 // bytes of all files
	key  func() ([]byte, error)

	mu   sync.Mutex
	open map[string]int // handles by name
}

// newDisk returns the disk cache in a directory, which object creates. It returns nil for "". An
// empty key is that of the user.
func newDisk(dir string, most int64, key []byte) *disk {
	if dir == "" {
		return nil
	}
	d := &disk{dir: dir, most: most, key: sync.OnceValues(userKey), open: make(map[string]int)}
	if len(key) > 0 {
		d.key = func() ([]byte, error) { return key, nil }
	}
	return d
}

const (
	dataSuffix = ".data"
	sumsSuffix = ".sums"
	sumSize    = 16 // bytes of an entry: the first ones of HMAC-SHA-256
	keySize    = 32 // bytes of the key of a user
)

// userKey returns the key in the configuration directory of the user, which it creates.
func userKey() ([]byte, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("key of the cache: %w; Options.CacheKey can be set", err)
	}
	dir = filepath.Join(dir, "hyperslab")
	file := filepath.Join(dir, "cache.key")
	key, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = createKey(dir, file)
	}
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s: got %d bytes, want %d; delete the file", file, len(key), keySize)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the cache: %w", err)
	}
	return key, nil
}

// createKey writes a random key, unless another program does so at the same time, and returns the
// key in the file.
func createKey(dir, file string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "cache.key-*") // only the user can read it
	if err != nil {
		return nil, err
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	_, err = f.Write(key)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), file)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// diskObject contains the blocks of one version. A nil diskObject is empty.
type diskObject struct {
	d          *disk
	name       string
	key        []byte
	data, sums *os.File
}

// object opens the files of a version. It returns nil for a version without a strong ETag, because
// another content may have the same names.
func (d *disk) object(url string, v *version) (*diskObject, error) {
	if d == nil || !v.strong() || v.size == 0 {
		return nil, nil
	}
	key, err := d.key()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache directory: %w", err)
	}
	sum := hmac.New(sha256.New, key) // users that share the directory have different names
	fmt.Fprintf(sum, "%q %q %d", url, v.tag, v.size)
	x := &diskObject{d: d, key: key, name: hex.EncodeToString(sum.Sum(nil)[:16])}
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
	if x.data, err = openOwn(root, x.name+dataSuffix); err == nil {
		if x.sums, err = openOwn(root, x.name+sumsSuffix); err == nil {
			now := time.Now()
			err = errors.Join(x.data.Truncate(v.size), root.Chtimes(x.name+sumsSuffix, now, now))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cache directory: %w", err), x.close())
	}
	return x, nil
}

// openOwn opens or creates a file of the cache, which other users must not be able to read or
// write, because it gets the content of objects.
func openOwn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !exclusive(info)) {
		err = fmt.Errorf("%w: %s: got mode %v or another owner, want a file that only this user can use", fs.ErrPermission, name, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
func (x *diskObject) entry(block []byte, number int64) (e [sumSize]byte) {
	h := hmac.New(sha256.New, x.key)
	h.Write(binary.LittleEndian.AppendUint64([]byte(x.name), uint64(number)))
	h.Write(block)
	copy(e[:], h.Sum(nil))
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
	if err != nil {
		return false
	}
	want := x.entry(block, number)
	return hmac.Equal(want[:], e[:])
}

// write stores a block.
func (x *diskObject) write(block []byte, number int64) error {
	if x == nil {
		return nil
	}
	if _, err := x.data.WriteAt(block, number<<blockShift); err != nil {
		return err
	}
	e := x.entry(block, number)
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
		if !ok || err != nil || !info.Mode().IsRegular() || !exclusive(info) || "."+suffix != dataSuffix && "."+suffix != sumsSuffix {
			continue // another program deleted it, or it is not a file of the cache of this user
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
