// Package publish contains the commands for other machines: index, serve, plan, work, commit and
// crosscheck.
package publish
