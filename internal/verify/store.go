// Verification of containers of python-blosc2: the structure, then each frame.

package verify

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// stored adds the frames of a store: those of its files, and the embedded ones.
func (j *job) stored(ctx context.Context, path string) (err error) {
	o := stores.Options{Limits: b2store.Limits{Directory: j.opts.MaxMetadata}, Metadata: j.opts.MaxMetadata, Embedded: j.opts.MaxChunk, Reopen: true}
	j.store, err = stores.Open(path, j.report.Format, o)
	if isContent(err) {
		return j.note(Finding{What: "structure", Offset: -1, Chunk: -1, Err: err})
	}
	if err != nil {
		return err
	}
	for _, m := range j.store.Files() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if j.report.Format == detect.B2Z {
			if err := j.checksum(m); err != nil {
				return err
			}
		}
		if m.Name == b2store.EmbedFile {
			f, err := j.store.FrameOf(m)
			if err == nil {
				err = j.frameIn("", f, b2store.EmbedFile)
			}
			if err != nil {
				return err
			}
		}
	}
	for t := range j.store.Invalid() {
		if err := j.note(Finding{Object: strings.TrimPrefix(t.Key, "/"), What: "schema", Offset: -1, Chunk: -1, Err: t.Err}); err != nil {
			return err
		}
	}
	for x := range j.store.All() {
		if err := ctx.Err(); err != nil {
			return err
		}
		object := strings.TrimPrefix(x.Key, "/")
		if !strings.HasSuffix("/"+object, "/"+b2store.GroupAttrs) {
			j.report.Arrays++
		}
		f, err := j.store.Frame(x)
		if err == nil {
			err = j.frameIn("", f, object)
		} else if isContent(err) {
			err = j.note(Finding{Object: object, What: "frame", Offset: -1, Chunk: -1, Err: err})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isContent reports whether an error is caused by the content of a file.
func isContent(err error) bool {
	return errors.As(err, new(*format.Error)) || errors.As(err, new(*cblosc.Error)) || errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, errors.ErrUnsupported)
}

// zipMember is Finding.What for a member of a ZIP file.
const zipMember = "member"

// checksum compares the CRC-32 of a member of a ZIP file.
func (j *job) checksum(m b2store.Member) error {
	r, err := j.store.FrameOf(m)
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, m.Size)); err != nil {
		return err
	}
	j.report.Checksums++
	if got := sum.Sum32(); got != m.CRC {
		return j.note(Finding{Object: m.Name, What: zipMember, Offset: m.Offset, Chunk: -1, Err: &format.Error{
			Format: "b2z file", What: fmt.Sprintf("CRC-32 of %.60q", m.Name), Offset: m.Offset, Got: fmt.Sprintf("%#08x", got), Want: fmt.Sprintf("%#08x", m.CRC), Err: format.ErrCorrupt,
		}})
	}
	return nil
}
