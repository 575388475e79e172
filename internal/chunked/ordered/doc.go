// Package ordered restores the order of numbered items that workers finish in any order. A [Gate]
// limits how far ahead the workers run, and a [Queue] holds early items in bounded memory.
package ordered
