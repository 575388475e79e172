// Package passage defines the exchange of stored chunks between two backends, which copies them
// without decoding.
package passage
