// Answers that are too long for a frame: JSON in the window, its length in the frame.

package worker

import (
	"context"
	"encoding/json"
	"fmt"
)

// PutJSON is for a Handler. It encodes v into the window and returns the answer that CallJSON
// decodes. It returns nil without an error if the window is too small.
func PutJSON(window []byte, v any) (answer []byte, err error) {
	b, err := json.Marshal(v)
	if err != nil || len(b) > len(window) {
		return nil, err
	}
	return json.Marshal(copy(window, b))
}

// A Caller is a *Client.
type Caller interface {
	Call(ctx context.Context, request []byte, use func(answer, window []byte) error) error
}

// CallJSON makes a call that PutJSON answers, and decodes the answer into v. Its errors are those
// of Client.Call, and ErrProtocol for an invalid answer.
func CallJSON(ctx context.Context, c Caller, request []byte, v any) error {
	return c.Call(ctx, request, func(answer, window []byte) error {
		var n int
		if err := json.Unmarshal(answer, &n); err != nil || n < 0 || n > len(window) {
			return fmt.Errorf("%w: an answer of %q", ErrProtocol, answer)
		}
		// A copy, because the worker can still write to the window.
		if err := json.Unmarshal(append([]byte{}, window[:n]...), v); err != nil {
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return nil
	})
}
