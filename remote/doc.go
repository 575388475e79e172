// Package remote reads objects over HTTP and from S3 through range requests and a block cache.
//
// # Overview
//
// A program that imports this package can pass URLs to the functions of package hyperslab, for
// example hyperslab.Open. DefaultClient makes the requests.
//
// Client.Open opens an object by its URL and returns an io.ReaderAt. A read fetches the missing
// blocks of its range, merges neighbouring blocks into one request, and waits for blocks that
// another read already fetches. Object.Prefetch fetches many ranges in parallel before they are
// read. Package hyperslab uses it to read all chunks of a region at the same time.
//
// # URLs
//
// A URL has the scheme http, https or s3. Credentials in a URL are refused, because URLs appear in
// messages and logs. s3://bucket/key uses the endpoint, region and credentials of the environment,
// the shared configuration files or the role of the instance, and is anonymous without credentials.
//
// Options.Header and Options.Authorization add headers to requests for http and https URLs, for
// example tokens. Netrc reads credentials from the file that curl and git use.
//
// # Caches
//
// All handles of a client share a block cache in memory. Options.CacheDir adds a disk cache, which
// several programs may share. Client.UseIndex opens an object with the metadata in an index file of
// WriteIndex, so that only the elements need requests.
//
// # Safety
//
// A URL is untrusted. Addresses in private ranges are refused when a connection is made, so that a
// name cannot resolve to another address after the check. Options.AllowPrivate allows them.
// Redirects lead only to http and https, and never from https to http. Options limits the size of
// an object, and the requests and bytes of a handle.
//
// The size, the ETag and the modification time of each response are compared with those of the
// first one. A read after a change returns ErrChanged, and never mixes data of two versions, if the
// server sends a strong ETag, or a modification time that is at least one second older than its
// response. For any other object Options.OnUnverified is called, or Options.RefuseUnverified makes
// Open return ErrUnverified, because a change may keep the size and the validators.
//
// # Concurrency
//
// All methods are safe for concurrent use.
//
// # Errors
//
// Errors are an *Error with the URL. It wraps ErrChanged, ErrUnverified, ErrRefused, ErrResponse,
// ErrLimit, ErrClosed, fs.ErrNotExist, fs.ErrPermission, or an error of package net.
package remote
