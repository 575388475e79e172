// Package musl lets the archives, which are compiled with the headers of glibc, link with musl. It
// defines the names of glibc for large files, which musl does not have or, from release 1.2.4, does
// not link. With glibc, and for platforms without archives, it is empty. The definitions are weak, so
// that those of an older musl apply.
package musl
