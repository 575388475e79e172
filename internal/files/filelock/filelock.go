// Acquire, Release, and the queue of the writers of this process.

package filelock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/meter"
)

// ErrLocked means that another writer holds the lock of a file for longer than the caller waits.
var ErrLocked = errs.ErrLocked

// Options are the options of Acquire. Nil means the zero value.
type Options struct {
	// NoLock continues without a lock if the file system refuses locks. The writers of this process
	// still exclude each other.
	NoLock bool

	// Unlocked is called if NoLock has an effect. It may be nil.
	Unlocked func(path string, err error)

	// Library is set for a file that libhdf5 opens for writing in place. Locks with Library share a
	// file within the process, because libhdf5 coordinates them. libhdf5 takes the flock itself.
	Library bool

	// Inside is set if the caller has the lock of a directory around the file.
	Inside bool

	// Tree is set by a writer that replaces a directory. The lock then also excludes writers in its
	// subdirectories.
	Tree bool
}

// Policy contains the settings of a program for all its locks. The zero value has no effect.
type Policy struct {
	Wait     time.Duration                    // maximum time to wait for a lock; 0: as long as the context allows
	Waiting  func(path string, holder string) // called once for each lock that is not free within a second
	NoLock   bool                             // as Options.NoLock
	Unlocked func(path string, err error)     // as Options.Unlocked
}

var policy atomic.Pointer[Policy]

// SetPolicy sets the policy of the program and returns the old one.
func SetPolicy(p Policy) Policy {
	if old := policy.Swap(&p); old != nil {
		return *old
	}
	return Policy{}
}

// patience is the time that a writer whose context has no deadline waits while one writer of the
// same process keeps the lock: the caller may hold it itself. Tests change it.
var patience = 10 * time.Second

// Lock is a lock of a file or directory, or a reference to one. A nil Lock locks nothing.
type Lock struct {
	h    *held
	done atomic.Bool
}

// held is a lock that the process holds. References count as one holder.
type held struct {
	path    string
	real    string // path without a symbolic link at its end
	library bool   // guarded by queues
	tree    bool   // Options.Tree
	q       *queue

	mu     sync.Mutex // guards the fields below
	refs   int
	around []func() error // release the locks of directories
	on     *inode         // nil: the file system refuses locks
}

// queue contains the writers of this process that want the file with one name. The name and not the
// inode identifies the queue, because each replacement of the file changes the inode.
type queue struct {
	key   string              // in queues
	turn  *semaphore.Weighted // first in, first out
	users int                 // guarded by queues
	turns atomic.Int64        // number of acquired locks
	held  *held               // guarded by queues; nil if the lock is free or not acquired yet

	sharers map[*waiting]context.CancelCauseFunc // guarded by queues; the writers that can share a lock for libhdf5

	after time.Time // guarded by turn: another process goes first until then
}

var queues struct {
	sync.Mutex
	of      map[string]*queue
	private map[string]bool
	parts   map[string]bool
}

// Part locks a part of a file, for example a dataset, for one holder in this process, and returns
// ErrLocked if another one has it. It is for holders that share the lock of the file with Library.
func (l *Lock) Part(name string) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	name = l.h.q.key + "\x00" + name
	queues.Lock()
	defer queues.Unlock()
	if queues.parts[name] {
		return nil, &fs.PathError{Op: "lock", Path: l.h.path, Err: fmt.Errorf("%w by %s", ErrLocked, thisProcess)}
	}
	if queues.parts == nil {
		queues.parts = map[string]bool{}
	}
	queues.parts[name] = true
	return sync.OnceFunc(func() {
		queues.Lock()
		defer queues.Unlock()
		delete(queues.parts, name)
	}), nil
}

// Private excepts a file or directory, and all below it, from locking until the returned function
// is called. It is for temporary names that no other writer knows.
func Private(path string) (end func()) {
	path = absolute(path)
	queues.Lock()
	defer queues.Unlock()
	if queues.private == nil {
		queues.private = map[string]bool{}
	}
	queues.private[path] = true
	return func() {
		queues.Lock()
		defer queues.Unlock()
		delete(queues.private, path)
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

func isPrivate(path string) bool {
	queues.Lock()
	defer queues.Unlock()
	if len(queues.private) == 0 {
		return false
	}
	for path = absolute(path); ; {
		if queues.private[path] {
			return true
		}
		dir := filepath.Dir(path)
		if dir == path {
			return false
		}
		path = dir
	}
}

// Acquire locks the file or directory that path names, and waits until it is free. It returns a nil
// Lock for a Private path.
//
// If ctx ends first, it returns an error that matches ErrLocked and ctx.Err() and contains the path
// and, if the kernel reports it, the process that holds the lock. A ctx without a deadline waits
// without limit for other processes, and for 10 seconds while one writer of this process keeps the
// lock, because the caller may be that writer. It also returns the errors of opening the file, and
// errors.ErrUnsupported if the file system refuses locks and NoLock is not set.
func Acquire(ctx context.Context, path string, o *Options) (*Lock, error) {
	l, err := acquire(ctx, path, o)
	if err != nil && !errors.As(err, new(*fs.PathError)) {
		err = &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return l, err
}

func acquire(ctx context.Context, path string, o *Options) (_ *Lock, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if isPrivate(path) {
		return nil, nil
	}
	w := newWaiting(ctx, path, o)
	defer w.end()
	for {
		real, key, err := resolve(path)
		if err != nil {
			return nil, err
		}
		l, err := w.down(real, key)
		if !errors.Is(err, errShared) && !errors.Is(err, errReplaced) {
			return l, err
		}
	}
}

// down locks the directory around a file, then the file, and last its subdirectories. All writers
// go down the tree in this order, so that no two of them wait for each other. It returns errShared
// or errReplaced if the caller must try again.
func (w *waiting) down(real, key string) (l *Lock, err error) {
	around, err := w.surround(real)
	if err != nil {
		return nil, err
	}
	q, shared := w.enter(key)
	if shared != nil {
		return shared, around()
	}
	if l, err = w.lock(q, real, around); err != nil {
		w.leave(q)
	}
	return l, err
}

// lock waits for the lock in a queue. The lock takes over around, which lock calls if it fails.
func (w *waiting) lock(q *queue, real string, around func() error) (_ *Lock, err error) {
	h := &held{path: w.path, real: real, library: w.Library, tree: w.Tree, q: q, refs: 1, around: []func() error{around}}
	if err := w.turn(q); err != nil {
		return nil, errors.Join(err, h.close())
	}
	if err := w.hold(h); err != nil {
		err = errors.Join(err, h.close())
		q.turn.Release(1)
		return nil, err
	}
	q.turns.Add(1)
	queues.Lock()
	defer queues.Unlock()
	q.held = h
	if h.library {
		q.share()
	}
	return &Lock{h: h}, nil
}

// errReplaced means that a writer replaced the file, or a directory around it, meanwhile: the locks
// of the new file are needed.
var errReplaced = errors.New("the file was replaced")

// hold gets the locks of a file and of its subdirectories.
func (w *waiting) hold(h *held) (err error) {
	if h.on, err = w.kernel(h.q, h.real); err != nil || h.on == nil {
		return err
	}
	if err := w.descend(h); err != nil {
		return err
	}
	same, err := h.on.is(h.real)
	if err == nil && !same {
		return errReplaced
	}
	return err
}

// close releases the locks of the kernel.
func (h *held) close() (err error) {
	if h.on != nil {
		err = h.on.close()
	}
	for _, release := range h.around {
		err = errors.Join(err, release())
	}
	h.on, h.around = nil, nil
	return err
}

// Enter locks the directory of a file that the caller creates, until release: no writer can replace
// that directory meanwhile. Any number of callers of Enter, and of writers of files in the
// directory, have it at the same time.
//
// A directory that the caller cannot open, or whose file system refuses locks, is not locked.
func Enter(ctx context.Context, file string) (release func() error, err error) {
	none := func() error { return nil }
	dir := filepath.Dir(file)
	if isPrivate(dir) {
		return none, nil
	}
	real, _, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	w := newWaiting(ctx, dir, nil)
	defer w.end()
	w.within, w.NoLock, w.Unlocked = true, true, nil
	on, err := w.kernel(&queue{}, real)
	if errors.Is(err, fs.ErrPermission) || err == nil && on == nil {
		return none, nil
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: dir, Err: err}
	}
	return sync.OnceValue(on.close), nil
}

// surround locks the directory of a file, until around is called.
func (w *waiting) surround(real string) (around func() error, err error) {
	if w.Inside {
		return func() error { return nil }, nil
	}
	return Enter(w.ctx, real)
}

// descend locks, with Tree, the subdirectories of a locked directory.
func (w *waiting) descend(h *held) error {
	if !w.Tree || !h.on.isDir() {
		return nil
	}
	return filepath.WalkDir(h.real, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != h.real {
			return fs.SkipDir // removed meanwhile
		}
		if err != nil || !d.IsDir() || path == h.real {
			return err
		}
		on, err := w.kernel(&queue{}, path)
		if errors.Is(err, fs.ErrNotExist) {
			return fs.SkipDir
		}
		if err != nil || on == nil {
			return err
		}
		h.around = append(h.around, on.close)
		return nil
	})
}

// resolve returns the path of a file without a symbolic link at its end, and the key of its queue,
// which is the same for all paths that lead to the same entry of a directory. It returns
// regularfile.ErrNot for files that are neither regular nor directories.
func resolve(path string) (real, key string, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", "", err
		}
		if info, err = os.Lstat(path); err != nil {
			return "", "", err
		}
	}
	if !info.IsDir() {
		if err := regularfile.Check(path, info); err != nil {
			return "", "", err
		}
	}
	if real, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	key, err = keyOf(real)
	return real, key, err
}

// errShared means that a waiting writer can share the lock that another one got.
var errShared = errors.New("the lock can be shared")

// enter adds a writer to the queue of a path. With Library it returns a reference to the lock
// instead if the process already holds it for libhdf5.
func (w *waiting) enter(key string) (*queue, *Lock) {
	queues.Lock()
	defer queues.Unlock()
	if queues.of == nil {
		queues.of = map[string]*queue{}
	}
	q := queues.of[key]
	if q == nil || q.held.gone() {
		q = &queue{key: key, turn: semaphore.NewWeighted(1)}
		queues.of[key] = q
	}
	if h := q.held; w.Library && h != nil && h.library {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refs++
		return q, &Lock{h: h}
	}
	q.users++
	return q, nil
}

// gone reports whether another file has got the path of a locked one, whose lock then does not
// matter to writers of the path.
func (h *held) gone() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on == nil {
		return false
	}
	same, err := h.on.is(h.real)
	return !same && err == nil
}

// leave removes a writer that did not get the lock.
func (w *waiting) leave(q *queue) {
	w.unjoin(q)
	queues.Lock()
	defer queues.Unlock()
	q.leave()
}

// leave is called with queues locked.
func (q *queue) leave() {
	if q.users--; q.users == 0 && queues.of[q.key] == q {
		delete(queues.of, q.key)
	}
}

// share ends the wait of all writers that can share the lock. It is called with queues locked.
func (q *queue) share() {
	for w, cancel := range q.sharers {
		delete(q.sharers, w)
		cancel(errShared)
	}
}

// Share returns another reference to the lock, which is released when all references are. A
// released lock has no references: Share then returns nil.
func (l *Lock) Share() *Lock {
	if l == nil || l.done.Load() {
		return nil
	}
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	l.h.refs++
	return &Lock{h: l.h}
}

// Hold returns a reference to the lock l of the file that path names, or locks the file if l is
// nil. It is for functions without a context.
func Hold(l *Lock, path string) (*Lock, error) {
	if l != nil {
		return l.Share(), nil
	}
	return Acquire(context.Background(), path, nil)
}

// Release releases the reference. A second call does nothing.
func (l *Lock) Release() error {
	if l == nil || l.done.Swap(true) {
		return nil
	}
	h := l.h
	if !h.drop() {
		return nil
	}
	if h.on != nil && h.on.awaited() {
		h.q.after = time.Now().Add(precedence)
	}
	err := h.close()
	h.q.turn.Release(1)
	queues.Lock()
	defer queues.Unlock()
	h.q.leave()
	return err
}

// drop removes a reference and reports whether it was the last one. No writer gets a reference
// afterwards.
func (h *held) drop() (last bool) {
	queues.Lock()
	defer queues.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refs--; h.refs > 0 {
		return false
	}
	h.q.held = nil
	return true
}

// Check returns regularfile.ErrReplaced if the path no longer names the locked file, because a
// program that does not use this lock replaced or removed it.
func (l *Lock) Check() error {
	if l == nil {
		return nil
	}
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if l.h.on == nil {
		return nil
	}
	is, err := l.h.on.is(l.h.real)
	if err == nil && !is || errors.Is(err, fs.ErrNotExist) {
		err = &fs.PathError{Op: "lock", Path: l.h.path, Err: regularfile.ErrReplaced}
	}
	return err
}

// Locks reports whether the lock is that of a file with this description. A Lock that locks nothing
// locks every file.
func (l *Lock) Locks(info fs.FileInfo) bool {
	if l == nil {
		return true
	}
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.h.on == nil || l.h.on.describes(info)
}

// Follow prepares the lock for a replacement: path is the temporary name of the file that will
// replace the locked one. The lock then also covers that file. moved drops the lock of the old file
// if ok is set, and otherwise that of the new one.
func (l *Lock) Follow(path string) (moved func(ok bool) error, err error) {
	if l == nil {
		return func(bool) error { return nil }, nil
	}
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if l.h.on == nil {
		return func(bool) error { return nil }, nil
	}
	next, err := openInode(path)
	if err == nil {
		var locked bool
		if locked, err = try(next, l.h.library); !locked {
			err = errors.Join(cmp.Or(err, ErrLocked), next.close())
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return func(ok bool) error {
		l.h.mu.Lock()
		defer l.h.mu.Unlock()
		if ok {
			l.h.on, next = next, l.h.on
		}
		return next.close()
	}, nil
}

// Exclusive reports whether this process holds a lock of path that excludes readers of libhdf5,
// also those of this process.
func Exclusive(path string) bool {
	queues.Lock()
	none := len(queues.of) == 0
	queues.Unlock()
	if none {
		return false
	}
	_, key, err := resolve(path)
	if err != nil {
		return false
	}
	queues.Lock()
	defer queues.Unlock()
	q := queues.of[key]
	if q == nil || q.held == nil || q.held.library {
		return false
	}
	q.held.mu.Lock()
	defer q.held.mu.Unlock()
	return q.held.on != nil && q.held.on.exclusive()
}

// Tree reports whether the lock was acquired with Options.Tree, so that it excludes all writers in
// a directory.
func (l *Lock) Tree() bool { return l != nil && l.h.tree }

// ForLibrary leaves the flock to libhdf5, which can then open the file for writing.
func (l *Lock) ForLibrary() error {
	if l == nil {
		return nil
	}
	queues.Lock()
	l.h.library = true
	l.h.q.share()
	queues.Unlock()
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	if l.h.on == nil {
		return nil
	}
	return l.h.on.forLibrary()
}

// waiting is the wait of one call of Acquire.
type waiting struct {
	Options
	ctx    context.Context
	cancel context.CancelCauseFunc // nil before begin
	waited func()                  // ends the wait for the counters; nil before begin
	path   string
	limit  time.Duration // Policy.Wait
	within bool          // the lock is shared: see Enter
	notice *time.Timer
	tell   func(path, holder string)
	holder atomic.Pointer[string] // description, as far as it is known
}

// errPatience is the cause of a wait that ended because of patience or Policy.Wait.
var errPatience = errors.New("the time to wait is over")

func newWaiting(ctx context.Context, path string, o *Options) *waiting {
	w := &waiting{path: path}
	if o != nil {
		w.Options = *o
	}
	w.ctx = ctx
	if p := policy.Load(); p != nil {
		w.NoLock = w.NoLock || p.NoLock
		if w.Unlocked == nil {
			w.Unlocked = p.Unlocked
		}
		w.limit, w.tell = p.Wait, p.Waiting
	}
	return w
}

func (w *waiting) end() {
	if w.notice != nil {
		w.notice.Stop()
	}
	if w.waited != nil {
		w.waited()
	}
	if w.cancel != nil {
		w.cancel(nil)
	}
}

// begin begins to wait: it starts the timers. by describes the holder of the lock.
func (w *waiting) begin(by string) {
	w.holder.Store(&by)
	if w.cancel != nil {
		return
	}
	w.waited = meter.Locks.Begin(w.ctx)
	w.ctx, w.cancel = context.WithCancelCause(w.ctx)
	if w.limit > 0 {
		outer := w.cancel
		ctx, cancel := context.WithTimeoutCause(w.ctx, w.limit, errPatience)
		w.ctx, w.cancel = ctx, func(err error) { outer(err); cancel() }
	}
	if w.tell != nil {
		w.notice = time.AfterFunc(time.Second, func() { w.tell(w.path, w.by()) })
	}
}

func (w *waiting) by() string {
	if s := w.holder.Load(); s != nil {
		return *s
	}
	return ""
}

// locked is the error of a wait that ended.
func (w *waiting) locked() error {
	err := ErrLocked
	if by := w.by(); by != "" {
		err = fmt.Errorf("%w by %s", err, by)
	}
	if cause := context.Cause(w.ctx); !errors.Is(cause, errPatience) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// turn waits until all earlier writers of this process are done.
func (w *waiting) turn(q *queue) error {
	if q.turn.TryAcquire(1) {
		return nil
	}
	w.begin(thisProcess)
	defer w.lose(&q.turns)()
	ctx, err := w.joins(q)
	if err != nil {
		return err
	}
	if q.turn.Acquire(ctx, 1) != nil {
		if errors.Is(context.Cause(ctx), errShared) {
			return errShared
		}
		return w.locked()
	}
	w.holder.Store(nil)
	w.unjoin(q)
	return nil
}

// unjoin undoes joins.
func (w *waiting) unjoin(q *queue) {
	queues.Lock()
	defer queues.Unlock()
	if cancel := q.sharers[w]; cancel != nil {
		delete(q.sharers, w)
		cancel(nil)
	}
}

// joins returns the context of the wait in a queue. With Library it ends with errShared when
// another writer gets a lock that can be shared. joins returns errShared if that is already the
// case.
func (w *waiting) joins(q *queue) (context.Context, error) {
	if !w.Library {
		return w.ctx, nil
	}
	queues.Lock()
	defer queues.Unlock()
	if q.held != nil && q.held.library {
		return nil, errShared
	}
	if q.sharers == nil {
		q.sharers = map[*waiting]context.CancelCauseFunc{}
	}
	ctx, cancel := context.WithCancelCause(w.ctx)
	q.sharers[w] = cancel
	return ctx, nil
}

// lose ends the wait for this process if turns does not change for the time of patience, unless the
// context has a deadline. It returns a function that ends lose.
func (w *waiting) lose(turns *atomic.Int64) (end func()) {
	if _, limited := w.ctx.Deadline(); limited {
		return func() {}
	}
	before, limit := turns.Load(), patience
	t := time.NewTimer(limit)
	ended := make(chan struct{})
	go func() {
		defer t.Stop()
		for {
			select {
			case <-ended:
				return
			case <-t.C:
				now := turns.Load()
				if now == before {
					w.cancel(errPatience)
					return
				}
				before = now
				t.Reset(limit)
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended) })
}

// thisProcess describes the holder of a lock.
const thisProcess = "this process"

// Times of the kernel's locks, which have no queue. A waiter asks again after a pause that grows
// from firstPause to lastPause. precedence is longer than lastPause.
const (
	firstPause = 100 * time.Microsecond
	lastPause  = 4 * time.Millisecond
	precedence = 10 * time.Millisecond
)

// kernel locks the file that a real path names. Another file can get the path while the caller
// waits: then the lock of that file is needed.
func (w *waiting) kernel(q *queue, real string) (*inode, error) {
	if err := w.sleep(2 * time.Until(q.after)); err != nil {
		return nil, err
	}
	for {
		on, err := openInode(real)
		if err != nil {
			return nil, err
		}
		locked, err := w.wait(on, real)
		if err == nil && locked {
			return on, nil
		}
		if err = errors.Join(err, on.close()); errors.Is(err, errors.ErrUnsupported) && w.NoLock {
			if w.Unlocked != nil {
				w.Unlocked(w.path, err)
			}
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// try asks the kernel for a lock. Tests replace it.
var try = (*inode).try

// wait waits until the kernel grants the lock. It returns false if the path names another file now.
func (w *waiting) wait(on *inode, real string) (locked bool, err error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var locked bool
		if w.within {
			locked, err = on.tryWithin()
		} else {
			locked, err = try(on, w.Library)
		}
		if err != nil {
			return false, err
		}
		if same, err := on.is(real); locked || !same || err != nil {
			return same, err
		}
		if w.by() == "" {
			on.announce()
			by := cmp.Or(on.holder(), "another process")
			w.begin(by)
			if by == thisProcess { // under another name of the file
				defer w.lose(new(atomic.Int64))()
			}
		}
		if err := w.sleep(pause); err != nil {
			return false, err
		}
	}
}

func (w *waiting) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d/2 + rand.N(d/2+1)) // writers without permission to write must not stay in step
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-w.ctx.Done():
		return w.locked()
	}
}

// Retry calls open until it returns an error that does not match ErrLocked. It is for libhdf5,
// which does not wait for other programs that have the file open. The wait ends like that of
// Acquire.
func Retry(ctx context.Context, path string, open func() error) error {
	err := open()
	if !errors.Is(err, ErrLocked) {
		return err
	}
	w := newWaiting(ctx, path, nil)
	defer w.end()
	by := cmp.Or(flockHolder(path), "another process")
	w.begin(by)
	if by == thisProcess {
		defer w.lose(new(atomic.Int64))()
	}
	for pause := firstPause; errors.Is(err, ErrLocked); pause = min(2*pause, lastPause) {
		if err := w.sleep(pause); err != nil {
			return &fs.PathError{Op: "lock", Path: path, Err: err}
		}
		err = open()
	}
	return err
}

// flockHolder describes a process that has opened a file with libhdf5, or returns "".
func flockHolder(path string) string {
	on, err := openInode(path)
	if err != nil {
		return ""
	}
	defer on.close() //nolint:errcheck // nothing was written
	return on.libraryHolder()
}
