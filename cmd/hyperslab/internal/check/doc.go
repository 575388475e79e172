// Package check contains the commands that check and compare files: diff, verify, recover and
// bench.
package check
