// Command hyperslab-beam runs a plan of hyperslab plan on a runner of Apache Beam: Flink, Spark,
// Dataflow, or Prism in one process. For example:
//
//	hyperslab-beam --plan plan.json --runner flink --endpoint HOST:8099
//
// The other flags are those of Beam's Go SDK. Every worker must reach the source and the target of
// the plan under the same names.
//
// # Overview
//
// The pipeline creates the numbers of the shards, distributes them with Reshuffle, does each shard,
// groups the results, and commits the plan. A plan with two stages has two such steps before the
// commit. The runner distributes and repeats shards; each attempt calls plan.Work, which allows
// repeated and concurrent attempts. The elements of the arrays do not go through Beam, so source
// and target must be in S3 or in a file system that all workers share.
//
// This directory is a module of its own, so that the dependencies of Beam do not become those of
// programs that use the other packages.
//
// The program hyperslab does the shards and the commit of a plan of many files, because the
// conversion of a file is not part of package plan. The flag --program is the name of the program.
// Each worker must find the program and the list of files under the same names.
//
// # Memory
//
// A worker process does as many shards at once as the runner gives it, each with Plan.ProcessMemory
// at most.
//
// # Concurrency
//
// A process runs one pipeline, whose shards run concurrently.
//
// # Errors
//
// A failed shard or commit is an error of its bundle, which the runner repeats or reports. A commit
// that the runner repeats after it succeeded compares the target with the source.
package main
