package ddl

// Pieces cuts a shape into regions that are read at once.
var Pieces = pieces
