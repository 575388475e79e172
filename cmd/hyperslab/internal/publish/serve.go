// hyperslab serve: show files in a browser and to programs.

package publish

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
	"github.com/hyperslab/hyperslab/serve"
)

// tokenVariable contains the token for --auth env. A token in the arguments would be visible to
// other users of the machine.
const tokenVariable = "HYPERSLAB_TOKEN"

// serveJob is one run of serve.
type serveJob struct {
	*shell.App

	listen   string
	auth     string
	hosts    []string
	response string
	memory   string
	timeout  time.Duration
	sandbox  bool
	trusted  bool
	log      bool
}

func newServe(a *shell.App) *cobra.Command {
	j := &serveJob{App: a}
	cmd := &cobra.Command{
		Use:   "serve DIRECTORY|FILE|URL...",
		Short: "Show files in a browser, and serve them to viewers",
		Long: `serve starts a server for the files of a directory, or for one file, and for objects at
URLs, and prints its address. A browser shows the files as a tree with metadata,
attributes, values and pictures. Programs get the routes of h5grove (/meta, /attr, /data,
/stats, /paths) for all formats. Builds with the viewer h5web, such as releases, have a
link to it on each page.

The server is read-only. By default only this machine reaches it, and each address
contains a random token. Files are untrusted: a sandbox checks and reads them.
Symbolic links, external links and external storage never lead out of the directory.
An object at a URL has the last part of its path as its name. It is copied to a temporary
file of at most 1 GiB; with --trusted it is read by ranges, in any size.
The server has no encryption; use ssh -L or a proxy with TLS from other machines.`,
		Example: `  hyperslab serve data
  hyperslab serve etopo.h5 --listen localhost:9000
  hyperslab serve data https://example.org/grid.h5 s3://bucket/cube.b2nd --trusted
  HYPERSLAB_TOKEN=... hyperslab serve data --listen 0.0.0.0:8090 --auth env --host data.example.org`,
		Args: shell.Arity(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return j.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&j.listen, "listen", "127.0.0.1:8090", "`ADDRESS`:PORT of the server; port 0 chooses one")
	f.StringVar(&j.auth, "auth", "token", "`KIND` of authentication: token (random), env (token in "+tokenVariable+") or off")
	f.StringSliceVar(&j.hosts, "host", nil, "host `NAME` of the server in addresses, in addition to localhost; can be repeated")
	f.StringVar(&j.response, "max-response", "64MiB", "maximum `SIZE` of a response")
	f.StringVar(&j.memory, "memory", "512MiB", "maximum `SIZE` of responses, caches and chunks in each process")
	f.DurationVar(&j.timeout, "timeout", time.Minute, "maximum `TIME` of the work for a response")
	f.BoolVar(&j.sandbox, "sandbox", true, "read files in isolated processes")
	f.BoolVar(&j.trusted, "trusted", false, "do not check files, and read URLs by ranges; no sandbox")
	f.BoolVar(&j.log, "log", false, "write a line for each request to standard error")
	shell.CompleteWords(cmd, "auth", "token", "env", "off")
	return cmd
}

func (j *serveJob) run(ctx context.Context, targets []string) (err error) {
	opts := &serve.Options{Hosts: j.hosts, Timeout: j.timeout, Untrusted: hyperslab.Untrusted{FullIsolation: true}}
	if err := errors.Join(shell.OneOf("--auth", j.auth, "token", "env", "off"), bytesFlag("--max-response", j.response, &opts.MaxBytes),
		bytesFlag("--memory", j.memory, &opts.Memory)); err != nil {
		return err
	}
	if j.timeout <= 0 {
		return shell.Usagef("--timeout %v: want a time of more than 0", j.timeout)
	}
	switch j.auth {
	case "token":
		opts.Token = rand.Text()
	case "env":
		if opts.Token = os.Getenv(tokenVariable); len(opts.Token) < 16 {
			return shell.Usagef("--auth env: %s has %d characters, want at least 16", tokenVariable, len(opts.Token))
		}
	}
	if !j.sandbox {
		opts.Untrusted = hyperslab.Untrusted{InProcess: true}
	}
	opts.Trusted = j.trusted
	if j.log {
		opts.Log = slog.New(slog.NewTextHandler(j.Stderr, nil))
	}
	dir := ""
	for _, target := range targets {
		switch {
		case remote.IsURL(target):
			opts.URLs = append(opts.URLs, target)
		case dir != "":
			return shell.Usagef("got %s and %s, want one directory or file, and any number of URLs", targets[0], target)
		default:
			if dir, opts.File, err = served(target); err != nil {
				return err
			}
		}
	}
	defer ndarray.SetReadMemory(ndarray.SetReadMemory(opts.Memory))
	handler, err := serve.New(dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", j.listen)
	if err != nil {
		return shell.Usagef("--listen %s: %w", j.listen, err)
	}
	j.announce(listener.Addr().String(), opts)
	return handler.Serve(ctx, listener)
}

// served returns the directory of a local target, and the name of the file if it is one.
func served(target string) (dir, file string, err error) {
	info, err := os.Stat(target)
	if err != nil {
		return "", "", ndarray.Wrap("serve", target, err)
	}
	if format, err := hyperslab.Sniff(target); info.IsDir() && (err != nil || format == hyperslab.Directory) {
		return target, "", nil
	}
	dir, err = filepath.Abs(filepath.Dir(target))
	return dir, filepath.Base(target), err
}

// announce writes the address of the server.
func (j *serveJob) announce(listens string, o *serve.Options) {
	host, port, err := net.SplitHostPort(listens)
	if ip, parsed := netip.ParseAddr(host); err == nil && parsed == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	if o.Token != "" {
		u.RawQuery = url.Values{"token": {o.Token}}.Encode()
	}
	fmt.Fprintln(j.Stdout, u.String())
	if ip, err := netip.ParseAddr(host); o.Token == "" && (err != nil || !ip.IsLoopback()) {
		j.Note("%s every program that reaches this address can read the files, because of --auth off", j.Talk.Notice("hyperslab serve:"))
	}
}

// bytesFlag parses a flag with a size.
func bytesFlag(flag, text string, to *int64) error {
	n, err := term.ParseBytes(text)
	if err != nil || n < 1 {
		return shell.Usagef("%s %s: want a size, for example 64MiB", flag, text)
	}
	*to = n
	return nil
}
