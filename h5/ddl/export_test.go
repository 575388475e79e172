package ddl

// Pieces splits a shape into regions that are each read at once.
var Pieces = pieces
