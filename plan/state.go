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
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
)

// partsSuffix is appended to the file of the target for the directory of a plan's files.
const partsSuffix = ".parts"

// store holds the small documents and the parts of one plan. Its only demand on a storage system is
// that create is exclusive: a link in a file system, a conditional put in an object store.
type store interface {
	// begin prepares the place of the first document.
	begin(ctx context.Context) error
	// create stores a document that does not exist yet. It returns fs.ErrExist if it exists. The
	// document appears complete or not at all, and is durable when create returns.
	create(ctx context.Context, name string, content []byte) error
	// read returns a document of at most mostBytes, or fs.ErrNotExist.
	read(ctx context.Context, name string) ([]byte, error)
	// list returns the names of all documents and parts.
	list(ctx context.Context) ([]string, error)
	// scratch returns a local path where a part of that name is written.
	scratch(name string) string
	// put makes the part at scratch(name) durable and visible to all processes.
	put(ctx context.Context, name string) error
	// fetch returns a local path of a part that was put, or fs.ErrNotExist.
	fetch(ctx context.Context, name string) (string, error)
	// remove deletes a part.
	remove(ctx context.Context, name string) error
	// removeAll deletes all documents and parts. If it is stopped, no later call finds some of them
	// without the others.
	removeAll(ctx context.Context) error
}

// directory is a store in a directory of a file system.
type directory struct{ dir string }

// newStore returns the store at a path; tests replace it.
var newStore = func(dir string) store { return directory{dir} }

func (d directory) begin(ctx context.Context) error {
	if err := os.Mkdir(d.dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return ctx.Err()
}

func (d directory) create(ctx context.Context, name string, content []byte) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	out, err := atomicfile.Create(filepath.Join(d.dir, name), atomicfile.Options{})
	if err != nil {
		return err
	}
	err = os.WriteFile(out.Path(), content, 0o666)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

func (d directory) read(ctx context.Context, name string) (_ []byte, err error) {
	f, _, err := regular.Open(filepath.Join(d.dir, name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(b) > mostBytes {
		err = fmt.Errorf("%w: size of %s: got more than %d bytes", ErrReceipt, name, mostBytes)
	}
	return b, cmp.Or(err, ctx.Err())
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

func (d directory) scratch(name string) string              { return filepath.Join(d.dir, name) }
func (d directory) put(ctx context.Context, _ string) error { return ctx.Err() }
func (d directory) remove(_ context.Context, name string) error {
	return os.RemoveAll(filepath.Join(d.dir, name))
}

func (d directory) fetch(ctx context.Context, name string) (string, error) {
	path := filepath.Join(d.dir, name)
	_, err := os.Stat(path)
	return path, cmp.Or(err, ctx.Err())
}

func (d directory) removeAll(context.Context) error {
	gone := d.dir + "-removed-" + attempt()
	if err := os.Rename(d.dir, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
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

// file returns the file of the target.
func (p *Plan) file() (string, error) {
	at, err := hyperslab.ParseLocation(p.Target.Location)
	return at.File, err
}

// state opens the files of the plan. If begin is set, it creates the directory for the first shard.
// It returns ErrTarget if another plan has the directory, ErrExists if the target exists, and
// ErrIncomplete if no shard was begun.
func (p *Plan) state(ctx context.Context, begin bool) (store, error) {
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
	file, err := p.file()
	if err != nil {
		return nil, err
	}
	dir := file + partsSuffix
	d := newStore(dir)
	content, err := d.read(ctx, claim)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return nil, fmt.Errorf("%w: %s", ndarray.ErrExists, file)
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
		return nil, fmt.Errorf("%w: %s: %w", ErrTarget, filepath.Join(dir, claim), err)
	}
	if other.ID != p.ID {
		return nil, fmt.Errorf("%w: %s contains the files of plan %.12s, want %.12s", ErrTarget, dir, other.ID, p.ID)
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
const receiptSchema = "hyperslab.receipt/1"

// receipt is the result of a finished shard.
type receipt struct {
	Schema string          `json:"schema"`
	Plan   string          `json:"plan"`
	Stage  int             `json:"stage"`
	Shard  int64           `json:"shard"`
	Part   string          `json:"part"`   // name of the file; "" for an operation without an array
	Bytes  int64           `json:"bytes"`  // size of the part
	SHA256 string          `json:"sha256"` // digest of the part
	Result json.RawMessage `json:"result"` // of verify, stats and checksum
	Digest string          `json:"digest"` // SHA-256 of the other fields
}

// receiptName returns the name of a receipt; stages count from 1.
func receiptName(stage int, shard int64) string {
	return fmt.Sprintf("%d-%09d.json", stage, shard)
}

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
	case r.Part != filepath.Base(r.Part) && r.Part != "":
		return nil, bad("part", r.Part, "a file name")
	}
	return r, nil
}

// sum returns the size and SHA-256 of a file.
func sum(ctx context.Context, path string) (size int64, digest string, err error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	buf := make([]byte, 1<<18)
	for {
		n, err := f.Read(buf)
		size += int64(n)
		if _, herr := h.Write(buf[:n]); herr != nil {
			return 0, "", herr
		}
		if errors.Is(err, io.EOF) {
			return size, hex.EncodeToString(h.Sum(nil)), nil
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return 0, "", err
		}
	}
}

// intact returns ErrReceipt unless the part is the file that the receipt describes.
func (r *receipt) intact(ctx context.Context, s store) (path string, err error) {
	path, err = s.fetch(ctx, r.Part)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: part %s of shard %d is missing", ErrReceipt, r.Part, r.Shard)
	}
	if err != nil {
		return "", err
	}
	size, digest, err := sum(ctx, path)
	if err != nil {
		return "", err
	}
	if size != r.Bytes || digest != r.SHA256 {
		return "", fmt.Errorf("%w: part %s of shard %d: got %d bytes with SHA-256 %s, want %d with %s", ErrReceipt, r.Part, r.Shard, size, digest, r.Bytes, r.SHA256)
	}
	return path, nil
}
