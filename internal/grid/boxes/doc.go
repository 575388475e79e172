// Package boxes copies and fills boxes of elements in row-major memories.
package boxes
