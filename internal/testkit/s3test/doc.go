// Package s3test is an S3 server in memory for tests. It also checks the conditions of requests,
// which the embedded server checks without a lock or not at all.
package s3test
