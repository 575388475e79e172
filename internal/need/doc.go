// Package need finds what tests compare with and git does not hold: other people's
// files, tools and Python libraries. What a developer's machine lacks skips the test,
// loudly; in CI, where the environment has CI, all of it belongs to the proof and its
// absence is a failure.
package need
