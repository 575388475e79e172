// Requests to python-blosc2, which writes and reads stores.

package filetest

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// StoreNode is an object of a store in a request to stores.py, or in a reply.
type StoreNode struct {
	Key      string         `json:"key"`
	Type     string         `json:"type,omitempty"`
	DType    string         `json:"dtype,omitempty"`
	TypeSize int            `json:"typesize,omitempty"`
	Shape    []int64        `json:"shape"`
	Data     string         `json:"data"`
	Attrs    map[string]any `json:"attrs,omitempty"`
	Values   []any          `json:"values,omitempty"`
}

// StoreRequest is a request to stores.py.
type StoreRequest struct {
	Table     *int                      `json:"table,omitempty"`
	Op        string                    `json:"op"`
	Path      string                    `json:"path"`
	Kind      string                    `json:"kind,omitempty"`
	Key       string                    `json:"key,omitempty"`
	Threshold int                       `json:"threshold"`
	Nodes     []StoreNode               `json:"nodes,omitempty"`
	Attrs     map[string]map[string]any `json:"attrs,omitempty"`
}

// StoreReply is a reply of stores.py.
type StoreReply struct {
	Content json.RawMessage           `json:"content"`
	Nodes   []StoreNode               `json:"nodes"`
	Attrs   map[string]map[string]any `json:"attrs"`
	Names   []string                  `json:"names"`
	Rows    []any                     `json:"rows"`
	Error   string                    `json:"error"`
}

// StorePeer starts python-blosc2 and returns a function that sends requests to it.
func StorePeer(t *testing.T) func(t require.TestingT, q any) StoreReply {
	t.Helper()
	cmd := exec.Command(testenv.Python(t, "blosc2"), testenv.Module(t, "ndarray/testdata/stores.py"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	lines := bufio.NewReader(out)
	return func(t require.TestingT, q any) (r StoreReply) {
		b, err := json.Marshal(q)
		require.NoError(t, err)
		_, err = in.Write(append(b, '\n'))
		require.NoError(t, err)
		line, err := lines.ReadBytes('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(line, &r))
		require.Empty(t, r.Error)
		return r
	}
}

// RequireAttrs compares attributes with values decoded from JSON.
func RequireAttrs(t require.TestingT, want map[string]any, got ndarray.Attrs) {
	require.Empty(t, got.Unsupported)
	values := make(map[string]any)
	for _, a := range got.List {
		switch v := a.Value; v.DType.Kind {
		case ndarray.String:
			values[a.Name] = v.Strings[0]
		case ndarray.Bool:
			values[a.Name] = v.Data[0] != 0
		default:
			require.Equal(t, "<f8", v.DType.String())
			values[a.Name] = math.Float64frombits(binary.NativeEndian.Uint64(v.Data))
		}
	}
	if len(want) == 0 {
		want = map[string]any{}
	}
	require.Equal(t, want, values)
}
