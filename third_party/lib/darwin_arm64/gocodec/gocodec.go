// Package gocodec holds the headers of libgocodec.a. See package lib.
package gocodec
