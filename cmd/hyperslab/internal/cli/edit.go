// Changes to a file that is there: made to a copy beside it, which takes its place
// when all is well, or in the file itself if that was asked for.

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
)

// editFlags are the flags of commands that change a file.
type editFlags struct {
	inPlace bool
	dryRun  bool
}

func (e *editFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&e.inPlace, "in-place", false, "change the file itself, not a copy that then replaces it: takes no room, and a crash can damage the file")
	f.BoolVar(&e.dryRun, "dry-run", false, "say what would be done and change nothing")
}

// editHelp ends the long help of commands with these flags.
const editHelp = `

The change is made to a copy, which replaces the file when all is well: a run that is
stopped leaves the old file or the new one. --in-place saves the copy.`

// edit calls change with the name of a file or directory that it may write to. What
// it has done counts if it returns nil, and not at all otherwise, unless it worked
// in place.
func (e *editFlags) edit(ctx context.Context, file string, change func(file string) error) (err error) {
	if e.inPlace {
		return change(file)
	}
	real, err := filepath.EvalSymlinks(file) // a link stays a link, to the new file
	if err != nil {
		return err
	}
	out, err := atomicfile.Create(real, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	if err := copyPath(ctx, out.Path(), real); err != nil {
		return err
	}
	if err := change(out.Path()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return out.Commit()
}

// copyPath copies a file or a directory, with its permissions. The system shares
// the blocks where the file system can.
func copyPath(ctx context.Context, to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
		return os.Chmod(to, info.Mode().Perm())
	}
	return copyFile(ctx, to, from, info.Mode().Perm())
}

// copyStep is what is copied between two looks at the context, in bytes.
const copyStep = 64 << 20

func copyFile(ctx context.Context, to, from string, mode os.FileMode) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch _, err := io.CopyN(dst, src, copyStep); {
		case errors.Is(err, io.EOF):
			return dst.Chmod(mode)
		case err != nil:
			return err
		}
	}
}
