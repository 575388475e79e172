// Frames of the control socket, in both directions.
//
// A frame is a kind (1 byte), a length (4 bytes, little-endian) and that many bytes. The reader
// checks the length before it reads the bytes.

package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kinds of frames.
const (
	frameFiles  byte = iota + 1 // from the host: the window and the files, as descriptors; no payload
	frameConfig                 // from the host: the worker's settings, as JSON
	frameHello                  // from the worker: its Level, as JSON
	frameCall                   // from the host: a request
	frameAnswer                 // from the worker: the answer
	frameError                  // from the worker: the error of the call
)

// maxFrame is the maximum payload of a frame in bytes. Larger data must use the window.
const maxFrame = 16 << 20

const frameHead = 5 // bytes

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d", len(payload), maxFrame)
	}
	// One write per frame, because a worker that dies between two writes would leave half a frame.
	b := make([]byte, frameHead, frameHead+len(payload))
	b[0] = kind
	binary.LittleEndian.PutUint32(b[1:], uint32(len(payload)))
	_, err := w.Write(append(b, payload...))
	return err
}

func readFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: frame of %d bytes, at most %d", ErrProtocol, n, maxFrame)
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, err
	}
	return head[0], payload, nil
}

// An error is sent as the indexes of the registered sentinels it wraps (a count of 2 bytes, then 2
// bytes each) and its text.

// WithText returns an error with another text that wraps err.
func WithText(err error, text string) error { return &withText{text, err} }

type withText struct {
	text string
	err  error
}

func (e *withText) Error() string { return e.text }
func (e *withText) Unwrap() error { return e.err }

// EncodeError encodes an error for the other side, for answers that contain more than one error.
// DecodeError decodes it to a *RemoteError.
func EncodeError(err error) []byte { return encodeError(err, errors.Is) }

// DecodeError decodes an error that EncodeError encoded in a worker of the same binary. It returns
// ErrProtocol for invalid bytes.
func DecodeError(b []byte) error { return decodeError(b) }

func encodeError(err error, is func(error, error) bool) []byte {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	b := make([]byte, 2)
	for i, s := range registry.errors {
		if is(err, s) {
			b = binary.LittleEndian.AppendUint16(b, uint16(i))
		}
	}
	binary.LittleEndian.PutUint16(b, uint16((len(b)-2)/2))
	text := err.Error()
	return append(b, text[:min(len(text), maxFrame/2)]...)
}

func decodeError(b []byte) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if len(b) < 2 {
		return fmt.Errorf("%w: an error of %d bytes", ErrProtocol, len(b))
	}
	n := int(binary.LittleEndian.Uint16(b))
	b = b[2:]
	if len(b) < 2*n {
		return fmt.Errorf("%w: an error of %d sentinels in %d bytes", ErrProtocol, n, len(b))
	}
	e := &RemoteError{}
	for range n {
		i := int(binary.LittleEndian.Uint16(b))
		if i >= len(registry.errors) {
			return fmt.Errorf("%w: sentinel %d of %d", ErrProtocol, i, len(registry.errors))
		}
		e.Sentinels = append(e.Sentinels, registry.errors[i])
		b = b[2:]
	}
	e.Text = string(b)
	return e
}
