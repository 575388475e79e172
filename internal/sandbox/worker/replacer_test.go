package worker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

func TestReplacer(t *testing.T) {
	r := worker.Replacer(map[string]string{
		"/proc/self/fd/5": "a.h5", "/dev/fd/5": "a.h5",
		"/proc/self/fd/57": "b.h5", "/dev/fd/57": "b.h5",
	})
	for _, x := range []struct{ text, want string }{
		{"open /proc/self/fd/5: end", "open a.h5: end"},
		{"/dev/fd/5", "a.h5"},
		{"/proc/self/fd/5/x and /dev/fd/5", "a.h5/x and a.h5"},
		{"/proc/self/fd/50, /proc/self/fd/5", "/proc/self/fd/50, a.h5"},
		{"/proc/self/fd/57 /dev/fd/57", "b.h5 b.h5"},
		{"/proc/self/fd/571 /proc/self/fd/512", "/proc/self/fd/571 /proc/self/fd/512"},
	} {
		require.Equal(t, x.want, r.Replace(x.text), x.text)
	}
}
