// Package cli is the hyperslab command, with one file per subcommand.
//
// # Overview
//
// Run takes a command line and three streams and returns an exit code. Standard output carries only
// data. Standard error carries all messages for users: errors, announcements, progress, the summary
// of a conversion. With --json the data are one JSON document whose first key names its schema.
// schemas.md describes each schema, and a test compares the two.
//
// # Errors
//
// An error names the operation, the file and a remedy. The exit codes:
//
//	0    done, or the two sides are the same
//	1    the two sides differ, or a file is corrupt
//	2    wrong usage, or impossible
//	3    partly done; the failures are on standard error
//	4    refused to overwrite an existing target
//	130  interrupted (SIGINT); 143 terminated (SIGTERM); likewise 129 (SIGHUP)
//	     and 141 (SIGPIPE): 128 plus the number of the signal
//
// # Memory and concurrency
//
// The package has no state between calls of Run. It removes temporary files before Run returns,
// also after a signal.
package cli
