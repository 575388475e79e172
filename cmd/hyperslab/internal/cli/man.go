// hyperslab man: manual pages, generated from the help of the commands.

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
)

func newMan(a *shell.App) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Print or install manual pages",
		Long: `man prints the manual page of a command, or of hyperslab, in the language of man(7).
With --install it writes the pages of all commands to a directory. "man hyperslab-ls"
finds them if the directory is man1 in a directory of MANPATH.`,
		Example: `  hyperslab man ls | man -l -
  hyperslab man --install ~/.local/share/man/man1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir != "" {
				if len(args) > 0 {
					return shell.Usagef("--install writes all pages; %q is one command", strings.Join(args, " "))
				}
				return writeMan(cmd.Root(), dir)
			}
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return shell.Usagef("there is no command %q%s", strings.Join(args, " "), shell.Near(cmd.Root(), args[0]))
			}
			var page bytes.Buffer
			manPage(&page, of)
			_, err = a.Stdout.Write(page.Bytes())
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "install", "", "write the pages of all commands to `DIR`, which is created")
	return cmd
}

// writeMan writes the manual pages of all commands into a directory: hyperslab.1, hyperslab-ls.1
// and so on.
func writeMan(c *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	var page bytes.Buffer
	manPage(&page, c)
	if err := os.WriteFile(filepath.Join(dir, name), page.Bytes(), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" {
			continue
		}
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// roff escapes text so that roff does not interpret it.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	var ascii strings.Builder
	for _, r := range text {
		if r < 128 {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	text = ascii.String()
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// manPage writes the page of one command.
func manPage(w *bytes.Buffer, c *cobra.Command) {
	path := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(w, ".TH %s 1 \"\" \"hyperslab\" \"User Commands\"\n", roff(strings.ToUpper(path)))
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(path), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.CommandPath()))
	arguments := strings.TrimPrefix(strings.TrimPrefix(c.Use, c.Name()), " ")
	if c.HasAvailableFlags() {
		arguments = strings.TrimSpace(arguments + " [FLAGS]")
	}
	fmt.Fprintf(w, "%s\n.SH DESCRIPTION\n", roff(arguments))
	text := c.Long
	if text == "" {
		text = c.Short
	}
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			w.WriteString(".PP\n")
		}
		w.WriteString(roff(paragraph) + "\n")
	}
	manFlags(w, "OPTIONS", c.NonInheritedFlags())
	manFlags(w, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		w.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if c.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.Trim(c.Example, "\n")))
	}
	w.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", e.code, roff(e.meaning))
	}
	w.WriteString(".SH SEE ALSO\n")
	var others []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			others = append(others, fmt.Sprintf(".BR %s (1)", roff(path+"-"+sub.Name())))
		}
	}
	if p := c.Parent(); p != nil {
		others = append(others, fmt.Sprintf(".BR %s (1)", roff(strings.ReplaceAll(p.CommandPath(), " ", "-"))))
	}
	w.WriteString(strings.Join(others, ",\n") + "\n")
}

// exitCodes are the exit codes of every command.
var exitCodes = []struct{ code, meaning string }{
	{"0", "Done, or no difference, or the file is valid."},
	{"1", "The two sides differ, or the file is corrupt."},
	{"2", "Wrong usage, or the operation is impossible."},
	{"3", "Partly done; standard error contains the failures."},
	{"4", "Refused to overwrite a file."},
	{"130, 143", "Interrupted (SIGINT), terminated (SIGTERM). No temporary file is left."},
}

// manFlags writes a section of flags.
func manFlags(w *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			value = " " + value
		}
		switch f.DefValue {
		case "", "false", "[]", "0":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name+value), roff(usage))
	})
}
