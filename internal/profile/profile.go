// Start of the profile.

package profile

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// Env is the environment variable that names the file.
const Env = "HYPERSLAB_CPUPROFILE"

// Start begins a profile, and stop ends it and closes the file. Without the variable both have no
// effect.
func Start() (stop func() error, err error) {
	path := os.Getenv(Env)
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Env, err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("%s: %w", Env, errors.Join(err, f.Close()))
	}
	return func() error {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			return fmt.Errorf("%s: %w", Env, err)
		}
		return nil
	}, nil
}
