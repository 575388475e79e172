// Package ndarraytest is the conformance suite of ndarray's backends. It tests every sentence of
// the Backend contract, and the guarantees that Array adds, against a simple model in memory.
package ndarraytest
