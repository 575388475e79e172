// Errors of requests.

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"github.com/hyperslab/hyperslab/internal/errs"
)

var (
	// ErrChanged means that the object is not the one that was opened.
	ErrChanged = errs.New("remote object has changed")
	// ErrUnverified means that neither the size nor the validators of an object detect each change:
	// the server sends no strong ETag, and no modification time that is at least one second older
	// than its response.
	ErrUnverified = errs.New("changes of the object cannot be detected")
	// ErrRefused means that the URL, its address or a redirect is not allowed.
	ErrRefused = errs.New("not allowed")
	// ErrPrivate means that the address of the URL or of a redirect is in a private network. It
	// matches ErrRefused.
	ErrPrivate = errs.New("not allowed: private address", ErrRefused)
	// ErrResponse means that the response of a server is invalid: for example another range than
	// the requested one, or a truncated body.
	ErrResponse = errs.New("invalid response")
	// ErrLimit means that the object or the transfer exceeds a limit of Options.
	ErrLimit = errs.ErrLimit
	// ErrClosed means that the object or client was closed.
	ErrClosed = errs.ErrClosed
)

// Error is an error of an operation on a remote object.
type Error struct {
	Op     string // for example "read"
	URL    string // without credentials and query
	Status int    // of the HTTP response; 0 without a response
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.URL, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// statusError is a response that contains no object.
type statusError struct {
	status int
	text   string        // from the server, for example "NoSuchBucket"
	reason string        // "": unknown
	after  time.Duration // that the server asks to wait; 0: it does not
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("status %d %s", e.status, http.StatusText(e.status))
	if e.text != "" {
		text += " (" + e.text + ")"
	}
	if e.reason != "" {
		text += ": " + e.reason
	}
	return text
}

// Is matches the sentinels of the status.
func (e *statusError) Is(target error) bool {
	switch e.status {
	case http.StatusNotFound, http.StatusGone:
		return target == fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == fs.ErrPermission
	case http.StatusPreconditionFailed:
		return target == ErrChanged
	}
	return target == ErrResponse
}

// transient reports whether a request that failed may succeed if it is repeated.
func transient(err error) bool {
	var status *statusError
	switch {
	case errors.As(err, &status):
		switch status.status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	case errors.Is(err, ErrChanged), errors.Is(err, ErrUnverified), errors.Is(err, ErrRefused), errors.Is(err, ErrLimit), errors.Is(err, ErrClosed), errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, ErrResponse):
		return errors.Is(err, io.ErrUnexpectedEOF)
	}
	return true // of the network
}

// fail returns an *Error for err, which is nil or has none yet.
func fail(op, shown string, err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, URL: shown, Err: err}
	var status *statusError
	if errors.As(err, &status) {
		e.Status = status.status
	}
	return e
}
