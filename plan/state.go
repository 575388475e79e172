// The files of a plan: its claim on the target, receipts and parts.

package plan

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// partsSuffix is appended to the file of the target for the directory of a plan's files.
const partsSuffix = ".parts"

// store holds the small documents and the parts of one plan. Its only demand on a storage system is
// that create is exclusive: a link in a file system, a conditional put in an object store.
type store interface {
	// begin prepares the directory of the first document.
	begin(ctx context.Context) error
	// create stores a document that does not exist yet. It returns fs.ErrExist if it exists. The
	// document appears complete or not at all, and is durable when create returns.
	create(ctx context.Context, name string, content []byte) error
	// read returns a document of at most mostBytes, or fs.ErrNotExist.
	read(ctx context.Context, name string) ([]byte, error)
	// list returns the names of all documents and parts.
	list(ctx context.Context) ([]string, error)
	// scratch returns a local path where a part of that name is written. The caller calls done
	// after put, or after an error.
	scratch(name string) (path string, done func() error, err error)
	// put makes the part at the path durable and visible to all processes, and completes its
	// receipt, in which the size and the digest are set.
	put(ctx context.Context, r *receipt, path string) error
	// putChunks is put for a part of a sparse target. numbers contains, for each chunk of the part,
	// its number in the target.
	putChunks(ctx context.Context, r *receipt, path string, numbers iter.Seq[int64]) error
	// intact returns ErrReceipt unless the part is the one that the receipt describes.
	intact(ctx context.Context, r *receipt) error
	// location returns the file or URL of a part that was put.
	location(name string) string
	// remove deletes a part.
	remove(ctx context.Context, name string) error
	// removeAll deletes all documents and parts. If it is stopped, no later call finds some of them
	// without the others.
	removeAll(ctx context.Context) error
}

// directory is a store in a directory of a file system.
type directory struct{ dir string }

// newStore returns the store at a path or URL; tests replace it. temp is the directory for
// temporary files; "" means os.TempDir.
var newStore = func(dir, temp string) store {
	if urlfile.IsURL(dir) {
		return &objects{url: dir, target: strings.TrimSuffix(dir, partsSuffix), temp: temp}
	}
	return directory{dir}
}

func (d directory) begin(ctx context.Context) error {
	if err := os.Mkdir(d.dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return ctx.Err()
}

func (d directory) create(ctx context.Context, name string, content []byte) error {
	return createFile(ctx, filepath.Join(d.dir, name), content)
}

// createFile creates a file that does not exist yet. It appears complete or not at all.
func createFile(ctx context.Context, path string, content []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	out, err := atomicfile.Create(ctx, path, atomicfile.Options{})
	if err != nil {
		return err
	}
	err = os.WriteFile(out.Path(), content, 0o666)
	if err == nil {
		err = out.Commit()
	}
	if err != nil && !out.Committed() {
		return errors.Join(err, out.Abort())
	}
	return err
}

func (d directory) read(ctx context.Context, name string) (_ []byte, err error) {
	f, _, err := regularfile.Open(filepath.Join(d.dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = tooLarge(name)
	}
	return b, cmp.Or(err, ctx.Err())
}

func tooLarge(name string) error {
	return fmt.Errorf("%w: size of %s: got more than %d bytes", ErrReceipt, name, mostBytes)
}

func (d directory) list(ctx context.Context) (names []string, err error) {
	entries, err := os.ReadDir(d.dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") { // not a temporary file
			names = append(names, e.Name())
		}
	}
	return names, cmp.Or(err, ctx.Err())
}

func (d directory) scratch(name string) (path string, done func() error, err error) {
	return d.location(name), func() error { return nil }, nil
}

func (d directory) put(ctx context.Context, _ *receipt, _ string) error { return ctx.Err() }

func (d directory) putChunks(ctx context.Context, _ *receipt, _ string, _ iter.Seq[int64]) error {
	return ctx.Err()
}

func (d directory) location(name string) string { return filepath.Join(d.dir, name) }

func (d directory) remove(_ context.Context, name string) error {
	return os.RemoveAll(d.location(name))
}

func (d directory) intact(ctx context.Context, r *receipt) error {
	path := d.location(r.Part)
	size, digest, err := sum(ctx, path, r.Chunks)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: part %s of shard %d is missing or incomplete", ErrReceipt, r.Part, r.Shard)
	}
	if err != nil {
		return err
	}
	return r.same(size, digest)
}

func (d directory) removeAll(context.Context) error {
	const removed = "-removed-"
	if err := os.Rename(d.dir, d.dir+removed+attempt()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(d.dir))
	for _, e := range entries { // also those of a Commit that was stopped
		if strings.HasPrefix(e.Name(), filepath.Base(d.dir)+removed) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(d.dir), e.Name())))
		}
	}
	return err
}

// attempt returns a name that no other attempt has.
func attempt() string {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand documents that Read returns no error
	}
	return hex.EncodeToString(b[:])
}

// claim is the name of the document that contains the plan.
const claim = "plan.json"

// file returns the file or URL of the target.
func (p *Plan) file() (string, error) {
	at, err := locate.Parse(p.Target.Location)
	if urlfile.IsURL(at.File) {
		at.File = strings.TrimSuffix(at.File, "/")
	}
	return at.File, err
}

// vacant returns ndarray.ErrExists if the target exists, or the directory of its shards. The
// directory of many files may exist.
func (p *Plan) vacant(ctx context.Context) error {
	file, err := p.file()
	if err != nil || p.ofFiles() { // files may be added to a directory
		return err
	}
	names := []string{file}
	if p.Target.Format == string(hyperslab.B2ND) || p.Target.Format == string(hyperslab.Caterva) {
		names = append(names, file+"/"+cframe.IndexFile) // objects have no directories
	}
	if p.virtual() {
		names = append(names, file+shardsSuffix)
	}
	for _, name := range names {
		if urlfile.IsURL(file) {
			if err = urlfile.Get().Vacant(ctx, name); errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%w: %s", ndarray.ErrExists, urlfile.Redact(name))
			}
		} else if _, err = os.Lstat(name); err == nil {
			return fmt.Errorf("%w: %s", ndarray.ErrExists, name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return nil
}

// store returns the store of the plan's files.
func (p *Plan) store(temp string) (store, error) {
	file, err := p.file()
	if p.ofFiles() {
		file = filepath.Clean(file)
	}
	return newStore(file+partsSuffix, temp), err
}

// state opens the files of the plan. If begin is set, it creates the directory for the first shard.
// It returns ErrTarget if another plan has the directory, ErrExists if the target exists, and
// ErrIncomplete if no shard was begun.
func (p *Plan) state(ctx context.Context, begin bool, temp string) (store, error) {
	id, err := p.digest()
	if err != nil {
		return nil, err
	}
	if id != p.ID {
		return nil, fmt.Errorf("%w: altered after planning: got id %q, want %s", ErrPlan, p.ID, id)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	d, err := p.store(temp)
	if err == nil && begin && p.ofFiles() {
		err = os.MkdirAll(filepath.Dir(filepath.Clean(p.Target.Location)), 0o777)
	}
	if err != nil {
		return nil, err
	}
	content, err := d.read(ctx, claim)
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.vacant(ctx); err != nil {
			return nil, err
		}
		if !begin {
			return nil, fmt.Errorf("%w: no shard of %d has a receipt", ErrIncomplete, p.shards())
		}
		if err := d.begin(ctx); err != nil {
			return nil, err
		}
		if content, err = p.Encode(); err != nil {
			return nil, err
		}
		if err := d.create(ctx, claim, content); !errors.Is(err, fs.ErrExist) {
			return d, err
		}
		content, err = d.read(ctx, claim)
	}
	if err != nil {
		return nil, err
	}
	other, err := Parse(content)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTarget, d.location(claim), err)
	}
	if other.ID != p.ID {
		return nil, fmt.Errorf("%w: %s is of plan %.12s, want %.12s", ErrTarget, d.location(claim), other.ID, p.ID)
	}
	return d, nil
}

func (p *Plan) shards() (n int64) {
	for _, s := range p.Stages {
		n += s.Shards
	}
	return n
}

// receiptSchema identifies the JSON form of a receipt.
const receiptSchema = "hyperslab.receipt/3"

// receipt is the result of a finished shard.
type receipt struct {
	Schema string          `json:"schema"`
	Plan   string          `json:"plan"`
	Stage  int             `json:"stage"`
	Shard  int64           `json:"shard"`
	Part   string          `json:"part"`   // name of the file; "" if there is none
	Bytes  int64           `json:"bytes"`  // size of the part
	SHA256 string          `json:"sha256"` // digest of the part; of a sparse target, of its chunk files in order
	Tag    string          `json:"tag"`    // in an object store: ETag, or a digest of the ETags of the chunk files
	Chunks []int64         `json:"chunks"` // of a sparse target: bytes of each chunk file, or a negative kind of special chunk
	Result json.RawMessage `json:"result"` // of verify, stats and checksum

	Rounded int64 `json:"rounded"` // elements that the conversion to another type changed
	Clipped int64 `json:"clipped"`

	Digest string `json:"digest"` // SHA-256 of the other fields
}

// receiptName returns the name of a receipt; stages count from 1.
func receiptName(stage int, shard int64) string {
	return fmt.Sprintf("%d-%09d.json", stage, shard)
}

// partName returns the beginning of the names of the parts of a shard.
func partName(stage int, shard int64) string { return fmt.Sprintf("%d-%09d-", stage, shard) }

func (r *receipt) seal() (string, error) {
	own := *r
	own.Digest = ""
	b, err := encode(own)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// receipt returns the receipt of a shard, or fs.ErrNotExist.
func (p *Plan) receipt(ctx context.Context, s store, stage int, shard int64) (*receipt, error) {
	name := receiptName(stage, shard)
	b, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	bad := func(what string, got, want any) error {
		return fmt.Errorf("%w: %s: %s: got %v, want %v", ErrReceipt, name, what, got, want)
	}
	r := &receipt{}
	if err := strict(b, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrReceipt, name, err)
	}
	digest, err := r.seal()
	if err != nil {
		return nil, err
	}
	switch {
	case r.Schema != receiptSchema:
		return nil, bad("schema", r.Schema, receiptSchema)
	case r.Digest != digest:
		return nil, bad("digest", r.Digest, digest)
	case r.Plan != p.ID:
		return nil, bad("plan", r.Plan, p.ID)
	case r.Stage != stage || r.Shard != shard:
		return nil, bad("shard", fmt.Sprintf("%d of stage %d", r.Shard, r.Stage), fmt.Sprintf("%d of stage %d", shard, stage))
	case r.Part != "" && (r.Part != filepath.Base(r.Part) || !strings.HasPrefix(r.Part, partName(stage, shard))):
		return nil, bad("part", r.Part, "a file name that begins with "+partName(stage, shard))
	}
	return r, nil
}

// sum returns the size and SHA-256 of a file or, with chunks, of the chunk files in a directory.
func sum(ctx context.Context, path string, chunks []int64) (size int64, digest string, err error) {
	h := sha256.New()
	if chunks == nil {
		size, err = add(ctx, h, path)
	}
	for _, file := range stored(chunks) {
		n, err := add(ctx, h, filepath.Join(path, file.name))
		if err != nil {
			return 0, "", err
		}
		size += n
	}
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// add writes the content of a file to a hash.
func add(ctx context.Context, h hash.Hash, path string) (size int64, err error) {
	f, _, err := regularfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buf := make([]byte, 1<<18)
	for {
		n, err := f.Read(buf)
		size += int64(n)
		h.Write(buf[:n]) // a hash.Hash returns no errors
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return 0, err
		}
	}
}

// same returns ErrReceipt unless a part has the size and the digest of its receipt.
func (r *receipt) same(size int64, digest string) error {
	if size != r.Bytes || digest != r.SHA256 {
		return fmt.Errorf("%w: part %s of shard %d: got %d bytes with SHA-256 %s, want %d with %s", ErrReceipt, r.Part, r.Shard, size, digest, r.Bytes, r.SHA256)
	}
	return nil
}

// temporary returns a new directory for files of this process, and a function that removes it. The
// directories of processes that were killed are removed too.
func temporary(ctx context.Context, dir string) (path string, remove func() error, err error) {
	out, err := atomicfile.Create(ctx, filepath.Join(cmp.Or(dir, os.TempDir()), "hyperslab-plan"), atomicfile.Options{Overwrite: true, Volatile: true})
	if err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(out.Path(), 0o700); err != nil {
		return "", nil, errors.Join(err, out.Abort())
	}
	return out.Path(), out.Abort, nil
}
