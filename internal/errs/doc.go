// Package errs holds the error sentinels that several public packages export. Each condition has
// one sentinel, so errors.Is gives the same answer whichever package returned the error.
package errs
