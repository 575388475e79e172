// HDF5 targets: the parts with a virtual dataset over them.

package plan

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// shardsSuffix is appended to the file of an HDF5 target for the directory of the parts.
const shardsSuffix = ".shards"

// virtual reports whether the target is a virtual dataset over the parts.
func (p *Plan) virtual() bool {
	return p.Target.Format == string(hyperslab.HDF5) && !p.Target.Compact
}

// shardName returns the file name of a part of a virtual dataset.
func shardName(shard int64) string { return fmt.Sprintf("%09d.h5", shard) }

// publishVirtual moves the parts to the directory TARGET.shards and creates the virtual dataset. A
// part is a link until removeAll, so that a Commit that was stopped can be repeated.
func (p *Plan) publishVirtual(ctx context.Context, s store, receipts map[int64]*receipt, spec ndarray.Spec) (err error) {
	at, err := locate.Parse(p.Target.Location)
	if err != nil {
		return err
	}
	staged := s.location("shards-" + attempt())
	if err := os.Mkdir(staged, 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staged)) }()
	last := p.Stages[len(p.Stages)-1]
	mappings := make([]h5.Mapping, last.Shards)
	shards := filepath.Base(at.File) + shardsSuffix
	for shard := range last.Shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := link(s.location(receipts[shard].Part), filepath.Join(staged, shardName(shard))); err != nil {
			return err
		}
		box := last.region(p.Source.Shape, shard)
		mappings[shard] = h5.Mapping{
			Region: h5.Region{Start: box.Start, Count: box.Shape}, Dataset: object, File: strings.ReplaceAll(shards, "%", "%%") + "/" + shardName(shard),
			Source: h5.SimpleSpace(box.Shape...), SourceRegion: h5.SimpleSpace(box.Shape...).All(),
		}
	}
	out, err := atomicfile.Create(ctx, at.File, atomicfile.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if !out.Committed() {
			err = errors.Join(err, out.Abort())
		}
	}()
	b, err := hdf5.Create(out.Path(), at.Object, spec, &hdf5.CreateOptions{Name: p.Target.Location, Mappings: mappings})
	if err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	if err := atomicfile.Sync(staged); err != nil {
		return err
	}
	dir := at.File + shardsSuffix
	if err := os.Rename(staged, dir); err != nil {
		if info, serr := os.Stat(dir); serr != nil || !info.IsDir() {
			return err
		}
		// An earlier or concurrent Commit has moved the parts.
		for shard := range last.Shards {
			size, digest, err := sum(ctx, filepath.Join(dir, shardName(shard)), nil)
			if errors.Is(err, fs.ErrNotExist) || err == nil && receipts[shard].same(size, digest) != nil {
				return fmt.Errorf("%w: %s, with other files than the parts of the plan", ndarray.ErrExists, dir)
			}
			if err != nil {
				return err
			}
		}
	}
	return out.Commit()
}
