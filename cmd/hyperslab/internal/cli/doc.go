// Package cli is the hyperslab command, one file a subcommand.
//
// # What
//
// Run takes a command line and three streams and returns an exit code. Standard
// output carries data and nothing else; standard error carries everything said
// to a person: errors, announcements, progress, the summary of a conversion.
// With --json the data is one JSON document whose first key names its schema;
// docs/json.md describes each schema, and a test holds the two together.
//
// # Errors
//
// An error says what failed, where, and what to do about it. The exit codes:
//
//	0    done, or the two sides are the same
//	1    the two sides differ, or a file is damaged
//	2    wrong usage, or it cannot be done
//	3    partly done; what failed is on standard error
//	4    refused to overwrite an existing target
//	130  interrupted (SIGINT); 143 terminated (SIGTERM); likewise 129 (SIGHUP)
//	     and 141 (SIGPIPE): 128 plus the number of the signal
//
// # Memory and concurrency
//
// The package holds no state between calls of Run. Temporary files are removed
// before it returns, also after a signal.
package cli
