// Recovery in a worker process. The worker writes into its own directory, and the caller checks the
// result and moves it to the destination.

package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/worker"
)

// service is the name under which a worker of this package is registered.
const service = "recover"

// made is the name of the new file in the worker's directory.
const made = "made"

func init() {
	worker.Register(service, serve)
	worker.RegisterErrors(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG)
}

// order is the start message of a worker.
type order struct {
	Dir     string // directory that the worker may write to
	Name    string // name of the corrupt file
	Options Options
}

// answer is the response of a worker.
type answer struct {
	Report Report
	Partly bool
}

// recoveryHandler is the worker's side.
type recoveryHandler struct {
	order  order
	file   *os.File
	window []byte
}

func serve(s *worker.Session) (worker.Handler, error) {
	h := &recoveryHandler{window: s.Window}
	if err := json.Unmarshal(s.Open, &h.order); err != nil {
		return nil, fmt.Errorf("%w: %w", worker.ErrProtocol, err)
	}
	if len(s.Files) != 2 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	h.file = s.Files[0]
	h.order.Options.Progress = telling(s.Files[1])
	return h, nil
}

// Call recovers the file and answers in JSON.
func (h *recoveryHandler) Call([]byte) ([]byte, error) {
	src := worker.FilePath(h.file)
	r, err := recoverAs(context.Background(), filepath.Join(h.order.Dir, made), src, h.order.Name, h.order.Options)
	if err != nil {
		return nil, worker.WithText(err, strings.ReplaceAll(err.Error(), src, h.order.Name))
	}
	for i := range r.Findings {
		r.Findings[i].Text = strings.ReplaceAll(r.Findings[i].Text, src, h.order.Name)
	}
	for a := (answer{*r, r.partly}); ; a.Report.Findings = a.Report.Findings[:len(a.Report.Findings)/2] { // drop findings until the answer fits; the counts stay
		if said, err := worker.PutJSON(h.window, a); said != nil || err != nil {
			return said, err
		}
	}
}

// isolated recovers in a worker. The caller must have checked that dst does not exist or may be
// replaced.
func isolated(ctx context.Context, dst, src string, o Options) (_ *Report, err error) {
	f, err := os.OpenFile(src, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, err := atomicfile.Create(dst, atomicfile.Options{Overwrite: o.Overwrite})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	// A temporary directory that is always removed, like an unfinished output.
	room, err := atomicfile.Create(dst+".room", atomicfile.Options{Overwrite: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, room.Abort()) }()
	dir, err := filepath.Abs(room.Path())
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	r, err := ask(ctx, f, dir, src, o)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, made)
	if err := plain(at); err != nil {
		return nil, err
	}
	if err := os.Rename(at, out.Path()); err != nil {
		return nil, err
	}
	r.Source, r.Destination = src, dst
	return r, out.Commit()
}

// ask makes a worker recover f into dir.
func ask(ctx context.Context, f *os.File, dir, name string, o Options) (_ *Report, err error) {
	size, err := bytesOf(worker.FilePath(f))
	if err != nil {
		return nil, err
	}
	heard, tells, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	hearing := make(chan struct{})
	go func() {
		defer close(hearing)
		if o.Progress == nil {
			_, _ = io.Copy(io.Discard, heard)
			return
		}
		hear(heard, o.Progress)
	}()
	defer func() { // the worker has ended before this runs
		err = errors.Join(err, tells.Close())
		<-hearing
		err = errors.Join(err, heard.Close())
	}()
	limits := worker.Limits{Memory: o.Memory, Wall: o.Time, File: 1<<30 + min(size, math.MaxInt64/8)*4}
	if limits.Memory == 0 {
		limits.Memory = 2 << 30
	}
	if limits.Wall == 0 {
		limits.Wall = 2*time.Minute + time.Duration(min(size>>20, int64(math.MaxInt64/time.Second/16)))*time.Second
	}
	limits.CPU = limits.Wall
	open, err := json.Marshal(order{Dir: dir, Name: name, Options: o})
	if err != nil {
		return nil, err
	}
	client, err := worker.NewClient(worker.Config{
		Service: service, Open: open, Files: []*os.File{f, tells}, Write: dir, Limits: limits,
		Require: worker.Full,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	var a answer
	if err := worker.CallJSON(ctx, client, nil, &a); err != nil {
		return nil, err
	}
	r := &a.Report
	if len(r.Findings) > o.MaxFindings || r.NumFindings < int64(len(r.Findings)) || min(r.Arrays, r.Chunks, r.Certain, r.Unverified, r.Guessed, r.Lost, r.LostObjects) < 0 {
		return nil, fmt.Errorf("%w: a report of %d findings, %d of them listed", worker.ErrProtocol, r.NumFindings, len(r.Findings))
	}
	r.partly = a.Partly
	return r, nil
}

// plain returns an error if a worker has created anything but directories and regular files.
func plain(at string) error {
	return filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: it reported success, but there is no file", worker.ErrProtocol)
		}
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%w: it has made %s, a %v", worker.ErrProtocol, filepath.Base(name), d.Type())
		}
		return err
	})
}
