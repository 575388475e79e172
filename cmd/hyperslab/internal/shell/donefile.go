// The record of finished sources in a directory of targets, by which a later run continues.

package shell

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// fileState identifies a version of a file or directory.
type fileState struct {
	Size   int64  `json:"size"`
	Time   int64  `json:"time"`             // of the last change, in nanoseconds since 1970
	Digest string `json:"sha256,omitempty"` // of the bytes, with --by-checksum
	Tag    string `json:"etag,omitempty"`   // of an object at a URL
}

// stateOf returns the state of a file, or of all files of a directory.
func stateOf(path string, digest bool) (s fileState, err error) {
	h := sha256.New()
	add := func(name string, info fs.FileInfo) error {
		s.Time = max(s.Time, info.ModTime().UnixNano())
		if !info.Mode().IsRegular() {
			return nil
		}
		s.Size += info.Size()
		if !digest {
			return nil
		}
		f, _, err := regularfile.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(h, f)
		return errors.Join(err, f.Close())
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.IsDir():
		err = add(path, info)
	default:
		err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return add(name, info)
		})
	}
	if digest {
		s.Digest = hex.EncodeToString(h.Sum(nil))
	}
	return s, err
}

// objectState returns the size and the ETag of an object at a URL. The state of a directory of
// objects, which HTTP cannot list, is empty.
func objectState(ctx context.Context, url string) (s fileState, err error) {
	object, err := urlfile.Get().Open(ctx, url)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Size, s.Tag = object.Size(), object.ETag()
	return s, object.Close()
}

// same reports whether s is of the same version as a state of the record. If s has a digest, the
// digests decide: a state without one is of another version.
func (s fileState) same(t fileState) bool {
	if s.Digest != "" {
		return s.Digest == t.Digest
	}
	if s.Tag != t.Tag {
		return false
	}
	return s.Size == t.Size && s.Time == t.Time
}

// String implements fmt.Stringer.
func (s fileState) String() string {
	text := fmt.Sprintf("%d bytes of time %d", s.Size, s.Time)
	if s.Tag != "" {
		text += " with ETag " + s.Tag
	}
	if s.Digest != "" {
		text += " with SHA-256 " + s.Digest
	}
	return text
}

// fileName is a name that is kept also if it is not UTF-8.
type fileName string

// MarshalJSON implements json.Marshaler.
func (n fileName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal([][]byte{[]byte(n)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *fileName) UnmarshalJSON(b []byte) error {
	var bytes [][]byte
	if json.Unmarshal(b, &bytes) == nil && len(bytes) == 1 {
		*n = fileName(bytes[0])
		return nil
	}
	return json.Unmarshal(b, (*string)(n))
}

// doneRecord is a line of the record. A line without Made is written before the target is, so that
// a run that is killed after the target appeared can be continued. A line with Failed cancels it.
type doneRecord struct {
	Target  fileName   `json:"target"` // relative to the directory
	Source  fileName   `json:"source"` // absolute
	State   fileState  `json:"state"`  // of the source
	Options string     `json:"options"`
	Was     *fileState `json:"was,omitempty"`  // state of a target that is replaced
	Made    *fileState `json:"made,omitempty"` // state of the new target
	Failed  bool       `json:"failed,omitempty"`

	past *doneRecord // of the complete target that a line without Made replaces; nil: no such target
}

// doneFile is the record of a directory.
type doneFile struct {
	dir     string
	options string
	last    map[fileName]*doneRecord // of each target

	mu   sync.Mutex
	f    *os.File // nil in a dry run
	lock *hyperslab.Lock
}

// openDone reads the record of a directory. Unless dry is set, it creates the directory, and locks
// the record until Close, so that another run waits.
func openDone(ctx context.Context, dir, options string, dry bool) (_ *doneFile, err error) {
	d := &doneFile{dir: dir, options: options, last: map[fileName]*doneRecord{}}
	name := filepath.Join(dir, detect.DoneFile)
	if !dry {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		if d.f, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666); err != nil {
			return nil, err
		}
		if d.lock, err = hyperslab.LockFile(ctx, name, nil); err != nil {
			return nil, errors.Join(ndarray.Wrap("write to", dir, err), d.f.Close())
		}
	}
	if err := d.read(name); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// read reads the record. It ignores a line without an end, which a crash or a full disk cut. It
// ends that line, so that the next one is separate.
func (d *doneFile) read(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines, cut := bufio.NewReaderSize(f, 1<<16), false
	for err == nil {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			cut = len(line) > 0
			break
		}
		r := new(doneRecord)
		if json.Unmarshal(line, r) == nil && r.Target != "" {
			d.add(r)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && cut && d.f != nil {
		_, err = d.f.WriteString("\n")
	}
	return errors.Join(err, f.Close())
}

// add adds a line that was read. After a failure that left the target as it was, the line of the
// last complete target counts again.
func (d *doneFile) add(r *doneRecord) {
	whole := d.last[r.Target]
	if whole != nil && whole.Made == nil {
		whole = whole.past
	}
	switch {
	case r.Made != nil:
		whole = r
	case !r.Failed:
		r.past, whole = whole, r
	}
	d.last[r.Target] = whole
}

// write appends a line.
func (d *doneFile) write(r *doneRecord) error {
	if d.f == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.f.Write(append(line, '\n'))
	return err
}

// Close releases the lock.
func (d *doneFile) Close() (err error) {
	if d.lock != nil {
		err = d.lock.Release()
	}
	if d.f != nil {
		err = errors.Join(err, d.f.Close())
	}
	return err
}

// verdict is what the record says about a target that exists.
type verdict struct {
	done  bool   // this source was written to it with the same options, and neither has changed
	doubt bool   // done, but the run was interrupted, so that another program can have written the target
	stale bool   // this source was written to it, but the source or the options were others, or the run failed
	why   string // it is not done
}

// judge compares a source and its target, which exists, with the record.
func (d *doneFile) judge(r *doneRecord, target fileState) (v verdict) {
	last, cut := d.last[r.Target], ""
	if last != nil && last.Made == nil && last.Was != nil && target.same(*last.Was) {
		last, cut = last.past, ", and a run that was replacing it was interrupted"
	}
	switch {
	case last == nil:
		return verdict{why: "it is not the target of an earlier run" + cut}
	case last.Source != r.Source:
		return verdict{why: "an earlier run wrote it from " + string(last.Source) + cut}
	}
	v.stale = last.Failed || last.Options != r.Options || !r.State.same(last.State)
	switch {
	case last.Made != nil && !target.same(*last.Made):
		v.why = "it has changed since an earlier run wrote it"
	case last.Failed:
		v.why = "the run that wrote it failed"
	case r.State.Digest != "" && last.State.Digest == "":
		v.why = "its record has no SHA-256 of the source"
	case !r.State.same(last.State):
		v.why = "its source has changed"
	case last.Options != r.Options:
		v.why = "an earlier run wrote it with other options"
	default:
		v.done, v.doubt = true, last.Made == nil
		return v
	}
	v.why += cut
	return v
}

// runFlags are the flags of a run that do not change the content of targets.
var runFlags = []string{
	"into", "flatten", "existing", "by-checksum", "files-from", "null", "keep-going", "recursive", "force", "dry-run", "jobs", "memory",
	"progress", "quiet", "json", "wait", "no-lock", "color", "plugin-path", "untrusted", "sandbox",
}

// optionsOf returns a short digest of the command and its flags that change the content of targets.
func optionsOf(cmd *cobra.Command) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", cmd.CommandPath())
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(runFlags, f.Name) {
			fmt.Fprintf(h, "%s=%s\n", f.Name, f.Value.String())
		}
	})
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// relativeTo returns the path of a target below a directory, with slashes.
func relativeTo(dir, target string) string {
	rel, err := filepath.Rel(dir, target)
	if err != nil {
		return target
	}
	return filepath.ToSlash(rel)
}
