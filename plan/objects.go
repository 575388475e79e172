// A store of objects of S3.

package plan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostUploads is the number of chunk files that a worker uploads at the same time.
const mostUploads = 16

// objects is a store of objects below a URL. The chunk files of a sparse target are stored below
// the URL of the target at once, because objects cannot be moved.
type objects struct {
	url, target string
	temp        string // directory for temporary files
}

func (o *objects) begin(ctx context.Context) error { return ctx.Err() }

func (o *objects) location(name string) string { return o.url + "/" + name }

// errCommitted is the error of an attempt that ends after Commit has removed the plan's files. Its
// receipt would never be removed.
var errCommitted = fmt.Errorf("%w: the plan was committed in the meantime", ndarray.ErrExists)

func (o *objects) create(ctx context.Context, name string, content []byte) error {
	if name != claim {
		if _, err := urlfile.Get().Stat(ctx, o.location(claim)); errors.Is(err, fs.ErrNotExist) {
			return errCommitted
		} else if err != nil {
			return err
		}
	}
	return exclusive(ctx, o.location(name), urlfile.Upload{Content: content})
}

// mostConflicts is the number of times that an upload is repeated after a conflict.
const mostConflicts = 8

// exclusive uploads an object that must not exist. A store may refuse an upload because of a
// concurrent one whose object is not visible yet, or never will be. The upload is then repeated, so
// that after fs.ErrExist the object exists.
func exclusive(ctx context.Context, url string, u urlfile.Upload) error {
	for i := 0; ; i++ {
		err := urlfile.Get().Upload(ctx, url, u)
		if !errors.Is(err, fs.ErrExist) || i == mostConflicts {
			return err
		}
		if _, serr := urlfile.Get().Stat(ctx, url); !errors.Is(serr, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond << i):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *objects) read(ctx context.Context, name string) ([]byte, error) {
	b, err := urlfile.Get().Read(ctx, o.location(name), mostBytes+1)
	if err == nil && len(b) > mostBytes {
		err = tooLarge(name)
	}
	return b, err
}

func (o *objects) list(ctx context.Context) (names []string, err error) {
	err = urlfile.Get().List(ctx, o.url, func(e urlfile.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	return names, err
}

func (o *objects) scratch(name string) (path string, done func() error, err error) {
	dir, done, err := temporary(context.Background(), o.temp)
	return filepath.Join(dir, name), done, err
}

func (o *objects) put(ctx context.Context, r *receipt, path string) error {
	if err := urlfile.Get().Upload(ctx, o.location(r.Part), urlfile.Upload{Path: path}); err != nil {
		return err
	}
	e, err := urlfile.Get().Stat(ctx, o.location(r.Part))
	r.Tag = e.Tag
	return err
}

func (o *objects) putChunks(ctx context.Context, r *receipt, path string, numbers iter.Seq[int64]) error {
	r.Part = "" // all attempts store the same objects
	files := stored(r.Chunks)
	tags := make([]string, len(files))
	next, stop := iter.Pull(numbers)
	defer stop()
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(mostUploads)
	at := int64(-1)
	number := int64(0)
	for i, file := range files {
		for ; at < file.chunk; at++ {
			number, _ = next()
		}
		name := cframe.ChunkFile(cframe.Offset(number))
		group.Go(func() error {
			e, err := o.putChunk(gctx, name, filepath.Join(path, file.name))
			tags[i] = e.Tag
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	h := sha256.New()
	for i, file := range files {
		addTag(h, file.size, tags[i])
	}
	r.Tag = hex.EncodeToString(h.Sum(nil))
	return nil
}

// addTag adds a chunk file to the digest of the tags of a shard.
func addTag(h hash.Hash, size int64, tag string) { _, _ = fmt.Fprintf(h, "%d %s\n", size, tag) }

// putChunk uploads a chunk file. An earlier attempt may have stored the same one.
func (o *objects) putChunk(ctx context.Context, name, path string) (e urlfile.Entry, err error) {
	url := o.target + "/" + name
	err = exclusive(ctx, url, urlfile.Upload{Path: path})
	if errors.Is(err, fs.ErrExist) {
		_, want, err := sum(ctx, path, nil)
		if err != nil {
			return e, err
		}
		_, got, err := sumObject(ctx, url)
		if err != nil {
			return e, err
		}
		if got != want {
			return e, fmt.Errorf("%w: %s exists: got SHA-256 %s, want %s of the plan", ndarray.ErrExists, name, got, want)
		}
	} else if err != nil {
		return e, err
	}
	return urlfile.Get().Stat(ctx, url)
}

// sumObject returns the size and SHA-256 of an object.
func sumObject(ctx context.Context, url string) (size int64, digest string, err error) {
	object, err := urlfile.Get().Open(ctx, url)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	h := sha256.New()
	size, err = io.Copy(h, io.NewSectionReader(object, 0, object.Size()))
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// intact compares the ETag, because the store computes it from the content.
func (o *objects) intact(ctx context.Context, r *receipt) error {
	if r.Part == "" {
		return nil // chunksIntact checks the chunks of all shards
	}
	e, err := urlfile.Get().Stat(ctx, o.location(r.Part))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: part %s of shard %d is missing", ErrReceipt, r.Part, r.Shard)
	}
	if err != nil {
		return err
	}
	if e.Size != r.Bytes || e.Tag != r.Tag {
		return fmt.Errorf("%w: part %s of shard %d: got %d bytes with ETag %s, want %d with %s", ErrReceipt, r.Part, r.Shard, e.Size, e.Tag, r.Bytes, r.Tag)
	}
	return nil
}

// chunksIntact returns ErrReceipt unless the chunk files of a sparse target are those of the
// receipts. It needs one request for 1,000 chunks.
func (o *objects) chunksIntact(ctx context.Context, p *Plan, receipts map[int64]*receipt) error {
	sums := make([]hash.Hash, len(receipts))
	for i := range sums {
		sums[i] = sha256.New()
	}
	chunks, stop := iter.Pull2(p.storedChunks(receipts))
	defer stop()
	c, size, more := chunks()
	err := urlfile.Get().List(ctx, o.target, func(e urlfile.Entry) error {
		if !more || !strings.HasSuffix(e.Name, ".chunk") {
			return nil
		}
		want := cframe.ChunkFile(cframe.Offset(c.number))
		if e.Name < want {
			return nil // not of the plan
		}
		if e.Name > want || e.Size != size {
			return fmt.Errorf("%w: %s of shard %d: got %s of %d bytes, want %d", ErrReceipt, want, c.shard, e.Name, e.Size, size)
		}
		addTag(sums[c.shard], e.Size, e.Tag)
		c, size, more = chunks()
		return nil
	})
	if err != nil {
		return err
	}
	if more {
		return fmt.Errorf("%w: %s of shard %d is missing", ErrReceipt, cframe.ChunkFile(cframe.Offset(c.number)), c.shard)
	}
	for shard, h := range sums {
		if got, want := hex.EncodeToString(h.Sum(nil)), receipts[int64(shard)].Tag; got != want {
			return fmt.Errorf("%w: digest of the ETags of shard %d: got %s, want %s", ErrReceipt, shard, got, want)
		}
	}
	return nil
}

// renumber copies chunk files whose number is too large for C-Blosc2, and returns their new numbers
// by chunk. C-Blosc2 does not open a frame with a file number above the bytes of all chunks minus
// 32. This occurs only if nearly all chunks are special, so that all files together are small.
func (o *objects) renumber(ctx context.Context, p *Plan, receipts map[int64]*receipt) (map[int64]int64, error) {
	const header = 32
	most, count := int64(-header), 0
	for _, size := range p.storedChunks(receipts) {
		most += size
		count++
	}
	used := make(map[int64]bool)
	for c := range p.storedChunks(receipts) {
		if c.number > int64(count) {
			break // the smallest free number is not larger than the number of files
		}
		used[c.number] = true
	}
	numbers := make(map[int64]int64)
	free := int64(0)
	for c, size := range p.storedChunks(receipts) {
		if c.number <= most {
			continue
		}
		for ; used[free]; free++ {
		}
		used[free] = true
		b, err := urlfile.Get().Read(ctx, o.target+"/"+cframe.ChunkFile(cframe.Offset(c.number)), size)
		if err != nil {
			return nil, err
		}
		url := o.target + "/" + cframe.ChunkFile(cframe.Offset(free))
		err = urlfile.Get().Upload(ctx, url, urlfile.Upload{Content: b})
		if errors.Is(err, fs.ErrExist) { // of a Commit that was stopped
			var old []byte
			if old, err = urlfile.Get().Read(ctx, url, size+1); err == nil && !bytes.Equal(old, b) {
				err = fmt.Errorf("%w: %s is not of the plan", ndarray.ErrExists, urlfile.Redact(url))
			}
		}
		if err != nil {
			return nil, err
		}
		numbers[c.number] = free
	}
	return numbers, nil
}

func (o *objects) remove(ctx context.Context, name string) error {
	return urlfile.Get().Remove(ctx, o.url, []string{name})
}

// removeAll removes the plan, then the receipts, and then the parts. If it is stopped, a new
// attempt of the plan finds each part that a remaining receipt names.
func (o *objects) removeAll(ctx context.Context) error {
	names, err := o.list(ctx)
	if err != nil {
		return err
	}
	var receipts, parts []string
	for _, name := range names {
		switch {
		case name == claim:
		case strings.HasSuffix(name, ".json"):
			receipts = append(receipts, name)
		default:
			parts = append(parts, name)
		}
	}
	for _, list := range [][]string{{claim}, receipts, parts} {
		if err := urlfile.Get().Remove(ctx, o.url, list); err != nil {
			return err
		}
	}
	return errors.Join(urlfile.Get().Abandon(ctx, o.url), urlfile.Get().Abandon(ctx, o.target))
}
