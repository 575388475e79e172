package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/hyperslab/hyperslab/remote"
)

// site serves two files on this machine.
func site() *httptest.Server {
	return httptest.NewServer(http.FileServerFS(fstest.MapFS{
		"a.txt":     {Data: []byte("0123456789")},
		"dir/b.txt": {Data: []byte("b")},
	}))
}

func ExampleNewClient() {
	s := site()
	defer s.Close()
	strict := remote.NewClient(nil)
	_, err := strict.Open(context.Background(), s.URL+"/a.txt")
	fmt.Println(errors.Is(err, remote.ErrRefused)) // a private address

	c := remote.NewClient(&remote.Options{AllowPrivate: true, Parallel: 4, Cache: 64 << 20})
	defer c.CloseIdle()
	o, err := c.Open(context.Background(), s.URL+"/a.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	fmt.Println(o.Size())
	// Output:
	// true
	// 10
}

func ExampleClient_Open() {
	s := site()
	defer s.Close()
	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	_, err := c.Open(context.Background(), s.URL+"/none")
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output: true
}

func ExampleClient_FS() {
	s := site()
	defer s.Close()
	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	dir, err := c.FS(context.Background(), s.URL+"/dir")
	if err != nil {
		log.Fatal(err)
	}
	b, err := fs.ReadFile(dir, "b.txt")
	fmt.Println(string(b), err)
	// Output: b <nil>
}

func ExampleClient_Stats() {
	s := site()
	defer s.Close()
	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	for range 3 {
		o, err := c.Open(context.Background(), s.URL+"/a.txt")
		if err != nil {
			log.Fatal(err)
		}
		if err := o.Close(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(c.Stats().Requests, c.Stats().Bytes)
	// Output: 1 10
}

func ExampleObject_ReadAt() {
	s := site()
	defer s.Close()
	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	o, err := c.Open(context.Background(), s.URL+"/a.txt?version=1")
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	p := make([]byte, 4)
	n, err := o.ReadAt(p, 3)
	fmt.Println(string(p[:n]), err)
	// Output: 3456 <nil>
}

func ExampleObject_Prefetch() {
	s := site()
	defer s.Close()
	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	o, err := c.Open(context.Background(), s.URL+"/a.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	stop := o.Prefetch(context.Background(), func(yield func(off, n int64) bool) {
		for off := int64(0); off < o.Size(); off += 2 {
			if !yield(off, 1) {
				return
			}
		}
	})
	defer stop()
	p := make([]byte, 1)
	for off := int64(0); off < o.Size(); off += 2 {
		if _, err := o.ReadAt(p, off); err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(p))
	}
	// Output: 02468
}

func ExampleWriteIndex() {
	s := site()
	defer s.Close()
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "index-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	local := filepath.Join(dir, "a.txt") // a copy of the object
	if err := os.WriteFile(local, []byte("0123456789"), 0o600); err != nil {
		log.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "a.index"))
	if err != nil {
		log.Fatal(err)
	}
	err = remote.WriteIndex(ctx, f, local, s.URL+"/a.txt", nil, func(c *remote.Client, url string) error {
		o, err := c.Open(ctx, url)
		if err != nil {
			return err
		}
		_, err = o.ReadAt(make([]byte, 4), 0) // the metadata
		return errors.Join(err, o.Close())
	})
	if err := errors.Join(err, f.Close()); err != nil {
		log.Fatal(err)
	}

	c := remote.NewClient(&remote.Options{AllowPrivate: true})
	defer c.CloseIdle()
	fmt.Println(c.UseIndex(f.Name(), ""))
	o, err := c.Open(ctx, s.URL+"/a.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	p := make([]byte, 4)
	_, err = o.ReadAt(p, 0)
	fmt.Println(string(p), err)
	// Output:
	// <nil>
	// 0123 <nil>
}

func ExampleClient_UseIndex() {
	c := remote.NewClient(nil)
	defer c.CloseIdle()
	err := c.UseIndex("none.index", "s3://bucket/x.h5")
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output: true
}

func ExampleIsURL() {
	fmt.Println(remote.IsURL("s3://bucket/x.h5"), remote.IsURL("x.h5"))
	// Output: true false
}

func ExampleRedact() {
	fmt.Println(remote.Redact("https://user:secret@host/x.h5?signature=secret"))
	// Output: https://...@host/x.h5?...
}

func ExampleNetrc() {
	authorization, err := remote.Netrc("") // the user's file, which need not exist
	if err != nil {
		log.Fatal(err)
	}
	c := remote.NewClient(&remote.Options{Authorization: authorization})
	defer c.CloseIdle()
	fmt.Println(c.Stats().Requests)
	// Output: 0
}
