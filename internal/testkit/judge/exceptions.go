// Documented differences.

package judge

// Exceptions are the documented differences between verdicts and the answers of the judge.
var Exceptions = []Exception{}
