// Completion of paths inside files, of fields and attributes, and of values of flags. cobra does
// the rest, and the shell completes files.

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CompleteAddress completes FILE:/path from the content of the file. Before the colon the shell
// completes.
func CompleteAddress(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if at := strings.LastIndex(word, "].") + 1; at > 0 && !strings.Contains(word[at:], "/") {
		return completeField(cmd.Context(), word, at)
	}
	at := strings.LastIndex(word, ":/")
	if at < 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	file, object := word[:at], word[at+1:]
	group := object[:strings.LastIndex(object, "/")+1]
	var found []string
	directive := cobra.ShellCompDirectiveNoFileComp
	base := "/" + strings.Trim(group, "/")
	below := func(e hyperslab.Entry) bool { return e.Path != base }
	for e, err := range hyperslab.Walk(cmd.Context(), file+":"+group, &hyperslab.WalkOptions{NoSizes: true, Prune: below}) {
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		inside, ok := strings.CutPrefix(e.Path, group)
		if !ok || inside == "" || strings.Contains(inside, "/") || !strings.HasPrefix(e.Path, object) {
			continue
		}
		if e.Kind == hyperslab.Group {
			e.Path += "/"
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		found = append(found, file+":"+e.Path)
	}
	return found, directive
}

// completeField completes the path of a field, which begins with a dot at a position of the word.
func completeField(ctx context.Context, word string, at int) ([]string, cobra.ShellCompDirective) {
	location, selection := splitBrackets(word[:at], at)
	if selection == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	arr, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Metadata: true})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	d := arr.DType()
	if err := arr.Close(); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	begin, name := word[:at+1], word[at+1:]
	if dot := strings.LastIndex(name, ".") + 1; dot > 0 { // of nested structures
		if d, _, err = fieldOf(d, name[:dot-1]); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		begin, name = begin+name[:dot], name[dot:]
	}
	directive := cobra.ShellCompDirectiveNoFileComp
	var found []string
	for _, f := range d.Fields {
		if strings.HasPrefix(f.Name, name) {
			found = append(found, begin+f.Name)
			if f.Type.Kind == ndarray.Struct {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
	}
	return found, directive
}

// CompleteAttribute completes an address, and then the names of the attributes there.
func (a *App) CompleteAttribute(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return CompleteAddress(cmd, args, word)
	case len(args) > 1 && cmd.Name() != "rm":
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	attrs, err := a.AttrsAt(cmd.Context(), args[0])
	if err != nil && len(attrs.List)+len(attrs.Unsupported) == 0 {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []string
	for _, name := range AttrNames(attrs) {
		if strings.HasPrefix(name, word) && !slices.Contains(args[1:], name) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// CompleteCommands completes the names of the commands.
func CompleteCommands(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() && len(args) == 0 {
			names = append(names, c.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// flagValues is the annotation of a flag that lists its values for completion.
const flagValues = "hyperslab_values"

// CompleteWords sets the values of a flag that completion offers.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.Flags().SetAnnotation(flag, flagValues, words); err != nil {
		panic("cli: " + err.Error()) // the command does not have the flag
	}
}

// RegisterValues registers the values of all flags with cobra. Only a request for completion needs
// them. cobra keeps the functions, and with them the whole command, in a global map for ever, so
// that a process with many calls of Run would leak memory.
func RegisterValues(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		words, ok := f.Annotations[flagValues]
		if !ok {
			return
		}
		err := cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		if err != nil {
			panic("cli: " + err.Error()) // the flag is registered twice
		}
	})
	for _, c := range cmd.Commands() {
		RegisterValues(c)
	}
}

// Completions adds the command completion, with scripts that handle words in quotes. The script for
// bash also contains the function that it needs from the package bash-completion.
func Completions(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if shells, _, err := root.Find([]string{"completion"}); err == nil {
		shells.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Usagef("there is no completion for %s; bash, fish, powershell and zsh have one", args[0])
			}
			return nil
		}
		shells.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for shell, script := range map[string]func(root *cobra.Command, w io.Writer, described bool) error{
		"bash": bashScript, "zsh": zshScript, "fish": fishScript,
	} {
		c, _, err := root.Find([]string{"completion", shell})
		if err != nil {
			panic("cli: " + err.Error()) // cobra creates it
		}
		c.RunE = func(cmd *cobra.Command, _ []string) error {
			plain, err := cmd.Flags().GetBool("no-descriptions")
			if err != nil {
				return err
			}
			return script(cmd.Root(), cmd.OutOrStdout(), !plain)
		}
	}
}

// The scripts are cobra's with one change: they also complete a word whose quote is still open,
// because a path with a selection begins with a quote. The script for zsh also keeps the
// backslashes of a name, which _describe would interpret as escapes of a colon.

func bashScript(root *cobra.Command, w io.Writer, described bool) error {
	return changed(w, func(b io.Writer) error { return root.GenBashCompletionV2(b, described) },
		bashWords, "complete -o default -F __start_hyperslab hyperslab", "complete -o default -F __hyperslab_quoted hyperslab",
		"complete -o default -o nospace -F __start_hyperslab hyperslab", "complete -o default -o nospace -F __hyperslab_quoted hyperslab")
}

func zshScript(root *cobra.Command, w io.Writer, described bool) error {
	make := root.GenZshCompletion
	if !described {
		make = root.GenZshCompletionNoDesc
	}
	return changed(w, make, "", "$(eval ${requestComp} 2>/dev/null)", "$(eval ${requestComp}${compstate[quote]} 2>/dev/null)",
		`comp=${comp//:/\\:}`, `comp=${${comp//\\/\\\\}//:/\\:}`)
}

// fishScript completes the word before the cursor without its quotes.
func fishScript(root *cobra.Command, w io.Writer, described bool) error {
	return changed(w, func(b io.Writer) error { return root.GenFishCompletion(b, described) }, "",
		"(string escape -- (commandline -ct))", "(string escape -- (string unescape -- (commandline -ct)))",
		"(commandline -t | string escape --style=regex)", "(commandline -t | string unescape | string escape --style=regex)")
}

// changed writes first, then a script in which it replaces the first string of each pair by the
// second one. Each string must occur once.
func changed(w io.Writer, make func(io.Writer) error, first string, pairs ...string) error {
	var b bytes.Buffer
	if err := make(&b); err != nil {
		return err
	}
	script := b.String()
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(script, pairs[i]) != 1 {
			return fmt.Errorf("%w: the script has no %q", errors.ErrUnsupported, pairs[i])
		}
		script = strings.Replace(script, pairs[i], pairs[i+1], 1)
	}
	_, err := io.WriteString(w, first+script)
	return err
}

// bashWords defines the function of bash-completion that the script needs, if it is not installed.
// It returns the words before the cursor and does not split them at = and :. bashWords also defines
// the function that is called first.
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

# a word whose quote is still open: readline takes what is offered as it is, closes the quote
# behind the only one, and breaks the word at no colon
__hyperslab_quoted()
{
    local cur prev words cword quote out directive comp
    _get_comp_words_by_ref -n =: cur prev words cword
    quote=${cur:0:1}
    if [[ $quote != [\'\"] || ${cur:1} == *"$quote"* ]]; then
        __start_hyperslab "$@"
        return
    fi
    COMPREPLY=()
    out=$(eval "${words[0]} __complete ${words[*]:1:cword}${quote}" 2>/dev/null)
    directive=${out##*:} out=${out%:*}
    while IFS='' read -r comp; do
        [[ -n $comp ]] || continue
        comp=${comp%%$'\t'*}
        if [[ $quote == \" ]]; then
            comp=${comp//\\/\\\\} comp=${comp//\"/\\\"} comp=${comp//\$/\\\$} comp=${comp//\` + "`" + `/\\\` + "`" + `}
        else
            comp=${comp//\'/\'\\\'\'}
        fi
        COMPREPLY+=("$comp")
    done <<<"$out"
    if ((directive & 2 && ${#COMPREPLY[@]} == 1)); then
        COMPREPLY+=("${COMPREPLY[0]}.") # there is more to come: the quote stays open
    fi
}

`
