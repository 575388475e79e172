// Package shellword quotes words for command lines that users copy.
package shellword
