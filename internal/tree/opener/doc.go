// Package opener detects the format of a source and opens it with its driver.
package opener
