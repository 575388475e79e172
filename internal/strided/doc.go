// Package strided copies boxes of elements between row-major buffers of different shapes.
package strided
