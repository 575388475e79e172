// Package detect finds the format of a file by its content or its name.
package detect
