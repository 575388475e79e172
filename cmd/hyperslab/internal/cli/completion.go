// Completion of what only this program knows: paths inside files, and the words
// that flags take. The rest is cobra's, and files are the shell's.

package cli

import (
	"io"
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

// completions adds what bash lacks where the package bash-completion is not installed to
// the script for it.
func completions(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if shells, _, err := root.Find([]string{"completion"}); err == nil {
		shells.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no completion for %s; bash, fish, powershell and zsh have one", args[0])
			}
			return nil
		}
		shells.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		panic("cli: " + err.Error()) // cobra makes it
	}
	run := bash.RunE
	bash.RunE = func(cmd *cobra.Command, args []string) error {
		if _, err := io.WriteString(cmd.OutOrStdout(), bashWords); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// bashWords is a stand-in for the one function of bash-completion that the script needs:
// the words before the cursor, with = and : left in them.
const bashWords = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        local line=${COMP_LINE:0:COMP_POINT} c i quote='' word=''
        words=()
        for ((i = 0; i < ${#line}; i++)); do
            c=${line:i:1}
            if [[ -n $quote ]]; then
                word+=$c
                [[ $c != "$quote" ]] || quote=''
            elif [[ $c == [\'\"] ]]; then
                quote=$c word+=$c
            elif [[ $c == \\ ]]; then
                word+=${line:i:2}
                i=$((i + 1))
            elif [[ $c == [[:blank:]] ]]; then
                [[ -z $word ]] || words+=("$word")
                word=''
            else
                word+=$c
            fi
        done
        words+=("$word")
        cword=$((${#words[@]} - 1)) cur=$word prev=''
        ((cword == 0)) || prev=${words[cword - 1]}
    }
fi

`
