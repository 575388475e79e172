// Dimension scales: datasets that say what the axes of other datasets mean, by a
// convention of attributes that netCDF-4 and h5py share (H5DS).

package h5

// #include "shim.h"
import "C"

import "iter"

// Scale is a dimension scale of an axis.
type Scale struct {
	Path    string // of the scale's dataset; "" if the library knows none
	Address uint64 // of its object header, for OpenAddress
	Name    string // the scale's own name, which need not be that of its link
}

// MakeScale makes the dataset a dimension scale with a name, which may be "" and
// need not be that of its link (H5DSset_scale). It is an error of the library if it
// is one already or has scales of its own.
func (d *Dataset) MakeScale(name string) error {
	const op = "make scale"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	cname, err := cString(op, d.path, name)
	if err != nil {
		return err
	}
	if name == "" {
		cname = nil
	}
	return d.run(op, d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_scale_make(cerr, id, cname) })
}

// ScaleName reports whether the dataset is a dimension scale, and its name as one
// (H5DSis_scale, H5DSget_scale_name).
func (d *Dataset) ScaleName() (name string, isScale bool, err error) {
	var is C.int32_t
	var blob C.goh5_blob_t
	err = d.run("look at scale", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_scale_name(cerr, id, &is, &blob)
	})
	if err != nil {
		return "", false, err
	}
	return takeBlob(&blob).text(), is != 0, nil
}

// AttachScale adds scale to those of an axis, counted from 0, and makes it a scale
// if it was none (H5DSattach_scale). Attaching twice changes nothing. It returns
// ErrParam for an axis that the dataset does not have, ErrReadOnly, or an error of
// the library: for a scale of a scale, or of another file.
func (d *Dataset) AttachScale(axis int, scale *Dataset) error {
	return d.setScale("attach scale", axis, scale, 1)
}

// DetachScale takes scale from those of an axis (H5DSdetach_scale). It is an error
// of the library if it is none of them.
func (d *Dataset) DetachScale(axis int, scale *Dataset) error {
	return d.setScale("detach scale", axis, scale, 0)
}

func (d *Dataset) setScale(op string, axis int, scale *Dataset, attach C.int32_t) error {
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	return d.runBoth(op, d.path, &scale.object, func(id, other C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_scale_attach(cerr, id, other, C.int64_t(axis), attach)
	})
}

// HasScale reports whether scale is one of an axis (H5DSis_attached).
func (d *Dataset) HasScale(axis int, scale *Dataset) (bool, error) {
	var attached C.int32_t
	err := d.runBoth("look for scale", d.path, &scale.object, func(id, other C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_scale_attached(cerr, id, other, C.int64_t(axis), &attached)
	})
	return attached != 0, err
}

// Scales yields the scales of an axis in the order they were attached
// (H5DSiterate_scales). They are collected before the first is yielded. An error is
// yielded once, alone.
func (d *Dataset) Scales(axis int) iter.Seq2[Scale, error] {
	return func(yield func(Scale, error) bool) {
		var blob C.goh5_blob_t
		err := d.run("list scales", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
			return C.goh5_scales(cerr, id, C.int64_t(axis), &blob)
		})
		if err != nil {
			yield(Scale{}, err)
			return
		}
		r := takeBlob(&blob)
		for range r.word() {
			if !yield(Scale{Path: r.text(), Address: r.word(), Name: r.text()}, nil) {
				return
			}
		}
	}
}

// SetAxisLabel says what an axis is (H5DSset_label).
func (d *Dataset) SetAxisLabel(axis int, label string) error {
	const op = "label axis"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	clabel, err := cString(op, d.path, label)
	if err != nil {
		return err
	}
	return d.run(op, d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_set_label(cerr, id, C.int64_t(axis), clabel)
	})
}

// AxisLabel is what SetAxisLabel said, "" if nothing (H5DSget_label).
func (d *Dataset) AxisLabel(axis int) (string, error) {
	var blob C.goh5_blob_t
	err := d.run("read label", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_label(cerr, id, C.int64_t(axis), &blob)
	})
	if err != nil {
		return "", err
	}
	return takeBlob(&blob).text(), nil
}
