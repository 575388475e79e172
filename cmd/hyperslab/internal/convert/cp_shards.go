// hyperslab cp --split and --join: parts of an array that is a directory.

package convert

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/remote"
)

// shardFlags are the flags for parts of an array.
type shardFlags struct {
	split, join []string // the part in each target, or in each source
}

func (s *shardFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.split, "split", nil,
		"divide a bcolz or sparse array: the `CHUNKS` of one target, FIRST:END or FIRST:END=COLUMN,...; repeat for each target")
	f.StringArrayVar(&s.join, "join", nil, "join parts of an array: the `CHUNKS` of one source, as for --split; repeat for each source")
	cmd.MarkFlagsMutuallyExclusive("split", "join")
}

func (s *shardFlags) given() bool { return s.split != nil || s.join != nil }

// check returns an error for flags that have no meaning with --split or --join, and for URLs.
func (s *shardFlags) check(cmd *cobra.Command, args []string) (err error) {
	own := "split"
	if s.join != nil {
		own = "join"
	}
	local := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if local.Lookup(f.Name) != nil && !slices.Contains([]string{"split", "join", "json", "progress"}, f.Name) && err == nil {
			err = shell.Usagef("--%s and --%s do not go together", f.Name, own)
		}
	})
	for _, arg := range args {
		if remote.IsURL(arg) && err == nil {
			err = shell.Usagef("--%s: %s: want directories of this machine", own, remote.Redact(arg))
		}
	}
	return err
}

// run divides or joins an array. The last argument is the target of a join, and the first is the
// source of a division.
func (s *shardFlags) run(ctx context.Context, args []string) error {
	if s.split != nil {
		parts, err := parts("--split", s.split, args[1:])
		if err != nil {
			return err
		}
		return shards.Split(ctx, args[0], parts)
	}
	last := len(args) - 1
	parts, err := parts("--join", s.join, args[:last])
	if err != nil {
		return err
	}
	return shards.Join(ctx, args[last], parts)
}

// parts returns the parts in directories.
func parts(flag string, chunks, dirs []string) ([]shards.Shard, error) {
	if len(chunks) != len(dirs) {
		return nil, shell.Usagef("%s: got %d values, want one for each of the %d parts", flag, len(chunks), len(dirs))
	}
	list := make([]shards.Shard, len(dirs))
	for i, text := range chunks {
		part, ok := parsePart(text)
		if !ok {
			return nil, shell.Usagef("%s %q: want FIRST:END or FIRST:END=COLUMN,...", flag, text)
		}
		part.Dir = dirs[i]
		list[i] = part
	}
	return list, nil
}

// parsePart parses FIRST:END or FIRST:END=COLUMN,... Both numbers may be missing.
func parsePart(text string) (part shards.Shard, ok bool) {
	text, columns, some := strings.Cut(text, "=")
	if some {
		part.Columns = strings.Split(columns, ",")
	}
	first, end, ok := strings.Cut(text, ":")
	part.End = shards.All
	for _, x := range []struct {
		text string
		to   *int64
	}{{first, &part.First}, {end, &part.End}} {
		if x.text == "" {
			continue
		}
		n, err := strconv.ParseInt(x.text, 10, 64)
		if *x.to = n; err != nil || n < 0 {
			return part, false
		}
	}
	return part, ok && part.First <= part.End
}
