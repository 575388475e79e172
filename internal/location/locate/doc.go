// Package locate splits the locations of arrays: FILE, or FILE:/path inside it.
package locate
