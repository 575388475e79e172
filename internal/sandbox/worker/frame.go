// Frames of the control socket, in both directions.
//
// A frame is a kind (1 byte), a length (4 bytes, little-endian) and that many bytes. The reader
// checks the length before it reads the bytes.

package worker

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Kinds of frames.
const (
	frameFiles    byte = iota + 1 // from the host: the window and the files, as descriptors; no payload
	frameConfig                   // from the host: the worker's settings, as JSON
	frameHello                    // from the worker: its Level, as JSON
	frameCall                     // from the host: a request
	frameAnswer                   // from the worker: the answer
	frameError                    // from the worker: the error of the call
	frameProgress                 // from the worker, before an answer: two numbers, done and total
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

// progress is the payload of a frameProgress.
type progress struct{ Done, Total int64 }
