// Package damage changes files as broken disks and interrupted copies do, for tests.
package damage
