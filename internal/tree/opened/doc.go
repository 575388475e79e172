// Package opened opens arrays and trees at locations, trusted and untrusted: it detects the format,
// and chooses between this process and a worker. It returns trees together with their locations,
// which their errors contain.
package opened
