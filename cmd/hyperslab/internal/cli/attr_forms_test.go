package cli_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// TestAttrGet_everyType sets a copy of each attribute from the output of attr get. h5py and
// python-blosc2 write the attributes and compare the copies by type and value.
func TestAttrGet_everyType(t *testing.T) {
	python, dir := testenv.Python(t, "h5py", "blosc2"), t.TempDir()
	script := filepath.Join("testdata", "attr_forms.py")
	out, err := exec.Command(python, script, "write", dir).Output()
	require.NoError(t, err)
	var attributes [][2]string
	require.NoError(t, json.Unmarshal(out, &attributes))
	require.Greater(t, len(attributes), 120)
	for _, x := range attributes {
		address, name := x[0], x[1]
		text := strings.TrimSuffix(done(t, "attr", "get", address, name), "\n")
		_, stderr, code := run("attr", "set", "--in-place", address, "copy_"+name, "--", text)
		require.Zero(t, code, "%s %s: %s: %s", address, name, text, stderr)
	}
	out, err = exec.Command(python, script, "check", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

func TestAttrGet_bcolz(t *testing.T) {
	dir := t.TempDir()
	array := filepath.Join(dir, "x.bcolz")
	done(t, "convert", "-q", filepath.Join(field(t), "waves.b2nd"), array)
	for name, value := range map[string]string{
		"f4": `{"dtype":"<f4","value":[0.1,-0.0,"NaN"]}`, "half": `{"dtype":"<f2","value":1.5}`, "int": "9007199254740993", "float": "1.0",
		"zero": "-0.0", "object": `{"a":1,"b":[1.5,{"c":null}]}`, "none": `{"dtype":"json","value":null}`, "mixed": `{"dtype":"json","value":[1,"a"]}`,
		"number": `"5"`, "text": "km", "bytes": `{"dtype":"|S3","value":{"base64":"//4="}}`, "complex": `{"dtype":"<c8","value":[-0.0,"NaN"]}`,
		"date": `{"dtype":"<M8[ns]","value":1700000000000000001}`, "span": `{"dtype":"<m8[s]","value":-5}`, "grid": `[[1,2],[3,4]]`,
	} {
		done(t, "attr", "set", "--in-place", array, name, "--", value)
		require.Equal(t, value+"\n", done(t, "attr", "get", array, name), name)
	}
}

func TestAttrGet_plain(t *testing.T) {
	at := filepath.Join(t.TempDir(), "x.b2nd")
	done(t, "convert", "-q", filepath.Join(field(t), "waves.b2nd"), at)
	for value, want := range map[string]string{
		`{"dtype":"|S3","value":"km"}`: "km", `{"dtype":"<f4","value":0.1}`: "0.1", `"5"`: "5", `{"dtype":"<i2","value":[1,2]}`: "[1,2]", "1.0": "1.0",
	} {
		done(t, "attr", "set", "--in-place", at, "a", "--", value)
		require.Equal(t, want+"\n", done(t, "attr", "get", at, "a", "--plain"))
	}
}

func TestAttrSet_invalidForms(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "x.h5")
	done(t, "convert", "-q", filepath.Join(field(t), "waves.b2nd"), at+":/d")
	for value, want := range map[string]string{
		`{"a":1}`:                                              "without a Value",
		`{"dtype":"json","value":1}`:                           "without a Value",
		`{"dtype":"<f9","value":1}`:                            "float of 9 bytes",
		`{"dtype":"<i1","value":300}`:                          "does not fit",
		`{"dtype":"<f4","value":1e300}`:                        "1e300 is not a value of <f4",
		`{"dtype":"<f8","value":"NaN(0xx)"}`:                   "is not a number",
		`{"dtype":"|S1","value":"ab"}`:                         "got 2 bytes",
		`{"dtype":"|V2","value":"ab"}`:                         "base64",
		`{"dtype":"<i4","shape":[2],"value":[1]}`:              "want 2",
		`{"dtype":"<i4","shape":[-1],"value":[]}`:              "shape",
		`{"dtype":"<i4","shape":"x","value":[]}`:               "shape",
		`{"dtype":"[('a','<i4')]","value":[{"a":1}]}`:          "shape",
		`{"dtype":"[('a','<i4')]","shape":[],"value":{"b":1}}`: `no member "a"`,
		`{"dtype":"enum('u1', {'A': 1})","value":"B"}`:         `"B" is no value`,
		`{"dtype":"|S2","charset":"latin","value":"a"}`:        "unknown character set",
		`{"dtype":"msgpack","value":"wQ=="}`:                   "",
	} {
		_, stderr, code := run("attr", "set", at+":/d", "a", value)
		require.Equal(t, 2, code, "%s: %s", value, stderr)
		require.Contains(t, stderr, want, value)
	}
}
