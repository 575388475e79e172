// Package shell is the common part of the commands: flags, addresses of arrays, output, progress,
// exit codes and advice. Each other package of commands imports it.
package shell
