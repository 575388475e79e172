// Package converted removes the differences from a comparison that a conversion to another format
// makes and reports: other types of strings, references as paths, and parts that the other format
// cannot store.
package converted
