// Package draft changes files under the lock of their writers: a change is complete or is not made.
package draft
