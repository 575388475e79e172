// Package treetest contains the tests that every implementation of tree.Tree must pass.
package treetest
