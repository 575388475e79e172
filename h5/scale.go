// Dimension scales: datasets with coordinates of the axes of other datasets, attached by a
// convention of attributes that netCDF-4 and h5py share (H5DS).

package h5

// #include "shim.h"
import "C"

import "iter"

// Scale is a dimension scale of an axis.
type Scale struct {
	Path    string // path of the scale's dataset; "" if libhdf5 has none
	Address uint64 // of its object header, for OpenAddress
	Name    string // name of the scale, which may differ from that of its link
}

// MakeScale makes the dataset a dimension scale (H5DSset_scale). The name may be "" and may differ
// from that of its link. It is a libhdf5 error if the dataset already is a scale or has scales
// attached.
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

// ScaleName returns the scale name of the dataset and whether the dataset is a dimension scale
// (H5DSis_scale, H5DSget_scale_name).
func (d *Dataset) ScaleName() (name string, isScale bool, err error) {
	var is C.int32_t
	var blob C.goh5_blob_t
	err = d.run("inspect scale", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_scale_name(cerr, id, &is, &blob)
	})
	if err != nil {
		return "", false, err
	}
	return takeBlob(&blob).text(), is != 0, nil
}

// AttachScale attaches scale to an axis, counted from 0, and makes it a scale if it is not one
// (H5DSattach_scale). Attaching a scale twice has no effect. AttachScale returns ErrParam for an
// invalid axis, ErrReadOnly, or a libhdf5 error if d is itself a scale or if scale is in another
// file.
func (d *Dataset) AttachScale(axis int, scale *Dataset) error {
	return d.setScale("attach scale", axis, scale, 1)
}

// DetachScale detaches scale from an axis (H5DSdetach_scale). It is a libhdf5 error if the scale is
// not attached.
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

// HasScale reports whether scale is attached to an axis (H5DSis_attached).
func (d *Dataset) HasScale(axis int, scale *Dataset) (bool, error) {
	var attached C.int32_t
	err := d.runBoth("find scale", d.path, &scale.object, func(id, other C.int64_t, cerr *C.goh5_err_t) C.int {
		return C.goh5_scale_attached(cerr, id, other, C.int64_t(axis), &attached)
	})
	return attached != 0, err
}

// Scales yields the scales of an axis in the order of attachment (H5DSiterate_scales). All scales
// are collected before the first is yielded. An error is yielded once, without a scale.
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

// SetAxisLabel sets the label of an axis (H5DSset_label).
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

// AxisLabel returns the label of an axis, "" if it has no label (H5DSget_label).
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
