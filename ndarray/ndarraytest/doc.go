// Package ndarraytest is the conformance suite of ndarray's backends: it
// asserts every sentence of the Backend contract, and what Array promises on top
// of it, against a plain model in memory.
package ndarraytest
