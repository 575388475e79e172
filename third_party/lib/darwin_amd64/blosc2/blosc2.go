// Package blosc2 holds headers of C-Blosc2. See package lib.
package blosc2
