// Package urlfile opens objects at URLs for package hyperslab. The client is package remote, which
// registers itself when a program imports it. Therefore a program that reads only local files
// contains no HTTP client, and opens no URL that it receives as a file name.
package urlfile
