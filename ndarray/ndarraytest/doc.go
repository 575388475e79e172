// Package ndarraytest is the conformance suite for backends of ndarray. It tests every requirement
// of the Backend contract, and the guarantees that Array adds, against a simple model in memory.
package ndarraytest
