// The S3 gateway of another project.

package s3test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Gateway starts versitygw on the loopback address with the empty bucket "data", and sets the
// environment for it. scripts/s3.sh builds the program and sets HYPERSLAB_S3GATEWAY.
func Gateway(t *testing.T) {
	t.Helper()
	program := os.Getenv("HYPERSLAB_S3GATEWAY")
	if program == "" {
		t.Skip("NOT TESTED: HYPERSLAB_S3GATEWAY is not set; scripts/s3.sh sets it")
	}
	root, side := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), program, "--access", "key", "--secret", "secret", "--port", address, "--region", "eu-west-3", "posix", "--sidecar", side, root)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // the error of a killed process
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for ready := false; !ready; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if ready = err == nil; ready {
			err = c.Close()
		} else {
			err = t.Context().Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	environment(t, "http://"+address, "")
}
