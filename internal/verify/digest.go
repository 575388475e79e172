// Sidecar files: SHA-256 digests of whole files, in the format of sha256sum.

package verify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/ndarray"
)

// SidecarExt is the extension of a sidecar, appended to the name of its file or directory.
const SidecarExt = detect.DigestsExt

// digests writes or compares the sidecar of path.
func digests(ctx context.Context, path string, o Options, r *Report) error {
	switch {
	case o.Digests == NoDigests, o.Digests == WriteDigests && r.NumDamages > 0:
		return nil
	case o.Digests == WriteDigests:
		return writeDigests(ctx, path, o, r)
	}
	return checkDigests(ctx, path, o, r)
}

// sums returns the digest of path, or of each regular file below it. The keys are the names in the
// sidecar, which start with the last element of path.
func sums(ctx context.Context, path string, workers int) (map[string]string, error) {
	path = filepath.Clean(path)
	var files []string
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		err = filepath.WalkDir(path+"/.", func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, p)
			}
			return err
		})
	} else {
		files = []string{path}
	}
	if err != nil {
		return nil, err
	}
	all := make([]string, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(workers, 2))
	for i, name := range files {
		g.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			all[i], err = sum(ctx, name)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	m := make(map[string]string, len(files))
	for i, name := range files {
		rel, err := filepath.Rel(filepath.Dir(path), name)
		if err != nil {
			return nil, err
		}
		m[filepath.ToSlash(rel)] = all[i]
	}
	return m, nil
}

func sum(ctx context.Context, name string) (_ string, err error) {
	f, _, err := regularfile.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	b := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(b)
		h.Write(b[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// escaping and unescaping convert names as sha256sum does. A line with an escaped name begins with
// a backslash.
var (
	escaping   = strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r")
	unescaping = strings.NewReplacer("\\\\", "\\", "\\n", "\n", "\\r", "\r")
)

func writeDigests(ctx context.Context, path string, o Options, r *Report) error {
	m, err := sums(ctx, path, o.Workers)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, name := range sorted(m) {
		mark, line := "", escaping.Replace(name)
		if line != name {
			mark = "\\"
		}
		fmt.Fprintf(&b, "%s%s  %s\n", mark, m[name], line)
	}
	out, err := atomicfile.Create(ctx, filepath.Clean(path)+SidecarExt, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	if err = os.WriteFile(out.Path(), b.Bytes(), 0o666); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	r.Digests = int64(len(m))
	return nil
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func checkDigests(ctx context.Context, path string, o Options, r *Report) error {
	want, err := readDigests(filepath.Clean(path) + SidecarExt)
	if err != nil {
		return err
	}
	got, err := sums(ctx, path, o.Workers)
	if err != nil {
		return err
	}
	base := filepath.Base(filepath.Clean(path))
	bad := func(name, is, should string) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
		return r.Add(Finding{What: "digest", File: rel, Offset: -1, Chunk: -1, Err: fmt.Errorf("%w: %s, the sidecar has %s", ndarray.ErrCorrupt, is, should)}, o.MaxDamages)
	}
	for _, name := range sorted(got) {
		switch should, ok := want[name]; {
		case !ok:
			err = bad(name, got[name], "no such file")
		case got[name] != should:
			err = bad(name, got[name], should)
		default:
			r.Digests++
		}
		if err != nil {
			return err
		}
	}
	for _, name := range sorted(want) {
		if _, ok := got[name]; !ok {
			if err := bad(name, "the file was removed", want[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

func readDigests(sidecar string) (_ map[string]string, err error) {
	f, _, err := regularfile.Open(sidecar)
	if errors.Is(err, regularfile.ErrNot) {
		err = errs.Mark(errors.New(err.Error()), ndarray.ErrCorrupt) // the files that it lists may have any format
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	m := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line, escaped := strings.CutPrefix(lines.Text(), "\\")
		digest, name, ok := strings.Cut(line, " ")
		raw, err := hex.DecodeString(digest)
		if !ok || err != nil || len(raw) != sha256.Size || len(name) < 2 || name[0] != ' ' && name[0] != '*' {
			return nil, fmt.Errorf("%w: %s, line %d is not a SHA-256 digest with a name", ndarray.ErrCorrupt, sidecar, n)
		}
		name = name[1:]
		if escaped {
			name = unescaping.Replace(name)
		}
		m[name] = strings.ToLower(digest)
	}
	return m, lines.Err()
}
