// Package inorder puts numbered things back into their order that workers finish in any:
// a [Gate] keeps the workers close together, and in a [Queue] what is too early waits,
// in bounded memory.
package inorder
