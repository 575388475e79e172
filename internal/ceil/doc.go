// Package ceil divides integers and rounds up without overflow. Shapes of files reach the
// largest int64, so (n+d-1)/d is wrong for them. A test of internal/lint forbids it elsewhere.
package ceil
