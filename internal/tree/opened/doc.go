// Package opened contains trees together with the locations at which they were opened. Their
// errors contain the location.
package opened
