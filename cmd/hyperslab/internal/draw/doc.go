// Package draw contains the commands that draw arrays: plot and view.
package draw
