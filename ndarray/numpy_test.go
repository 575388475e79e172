// Tests against NumPy: its dtype strings and ours must denote the same types, and a selection must
// select the same elements. The Python part is testdata/oracle.py.
package ndarray_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/samples"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// oracle runs a query of testdata/oracle.py.
func oracle(t *testing.T, verb string, question, answer any) {
	t.Helper()
	interpreter := testenv.Python(t, "numpy")
	in, err := json.Marshal(question)
	require.NoError(t, err)
	cmd := exec.Command(interpreter, "testdata/oracle.py", verb)
	var out, talk bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &talk
	require.NoError(t, cmd.Run(), "oracle.py %s:\n%s", verb, talk.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), answer))
}

// describe returns the same description of a type as the function describe of oracle.py.
func describe(d ndarray.DType) any {
	switch d.Kind {
	case ndarray.SubArray:
		dims := []any{}
		for _, n := range d.Dims {
			dims = append(dims, float64(n))
		}
		return map[string]any{"size": float64(d.Size), "base": describe(*d.Base), "dims": dims}
	case ndarray.Struct:
		fields := []any{}
		for _, f := range d.Fields {
			fields = append(fields, []any{f.Name, f.Title, float64(f.Offset), describe(f.Type)})
		}
		return map[string]any{"size": float64(d.Size), "fields": fields}
	}
	return d.String()
}

func TestDType_numpy(t *testing.T) {
	var mine []ndarray.DType
	var strs []string
	gen := rapid.Custom(samples.DrawDType)
	for seed := range 300 {
		mine = append(mine, gen.Example(seed).NumPy())
	}
	for _, d := range samples.DTypes() {
		if d.Size != 12 { // NumPy does not have this type on all machines
			mine = append(mine, d.NumPy())
		}
	}
	for _, d := range mine {
		strs = append(strs, d.String())
	}
	var answer struct {
		Ours   [][2]any // NumPy's string, description of the type
		Theirs [][2]any // NumPy's string of the type that it parsed, description of that type
	}
	oracle(t, "dtypes", map[string]any{"seed": 6, "count": 500, "texts": strs}, &answer)
	require.Len(t, answer.Ours, 500)
	require.Len(t, answer.Theirs, len(mine))
	for i, d := range mine {
		require.Equal(t, describe(d), answer.Theirs[i][1], "NumPy reads %s", strs[i])
	}
	for _, a := range answer.Ours {
		text := a[0].(string)
		d, err := ndarray.ParseDType(text)
		require.NoError(t, err, text)
		require.Equal(t, a[1], describe(d), text)
		require.Equal(t, text, d.String())
	}
}
