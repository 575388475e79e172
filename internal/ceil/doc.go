// Package ceil divides integers and rounds up without overflow. Dimensions in files reach the
// largest int64, so (n+d-1)/d is wrong for them. A test of internal/lint forbids that form
// elsewhere.
package ceil
