// Package tools is the root of a separate module with the programs that make and check releases, so
// that a user of Hyperslab does not depend on what they need.
package tools
