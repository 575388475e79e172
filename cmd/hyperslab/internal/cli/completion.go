// Completion of what only this program knows: paths inside files, and the words
// that flags take. The rest is cobra's, and files are the shell's.

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// completeAddress completes FILE:/path from what the file holds. Before the
// colon it leaves the work to the shell.
func completeAddress(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	at := strings.LastIndex(word, ":/")
	if at < 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	file, object := word[:at], word[at+1:]
	group := object[:strings.LastIndex(object, "/")+1]
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	base := "/" + strings.Trim(group, "/")
	below := func(e formats.Entry) bool { return e.Path != base }
	for e, err := range formats.Walk(cmd.Context(), file+":"+group, formats.WithPrune(below)) {
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		inside, ok := strings.CutPrefix(e.Path, group)
		if !ok || inside == "" || strings.Contains(inside, "/") || !strings.HasPrefix(e.Path, object) {
			continue
		}
		if e.Kind == formats.Group {
			e.Path += "/"
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		found = append(found, file+":"+e.Path)
	}
	return found, directive
}

// completeCommands offers the names of the commands.
func completeCommands(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() && len(args) == 0 {
			names = append(names, c.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeWords offers the words that a flag takes.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("cli: " + err.Error()) // a flag that the command does not have
	}
}
