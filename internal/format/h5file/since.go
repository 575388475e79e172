// The oldest release of libhdf5 that reads an object.

package h5file

import "errors"

// release is a minor release of libhdf5 that extended the format, with its last patch release.
type release int

const (
	release1_4 release = iota
	release1_6
	release1_8
	release1_10
	release1_12
	release2_0
)

func (r release) String() string {
	return [...]string{"1.4", "1.6", "1.8", "1.10", "1.12", "2.0"}[r]
}

// upTo returns the first release that reads a version of a structure. The releases are those of
// versions first, first + 1 and so on. Later versions are of the last release.
func upTo[V uint8 | uint32](version, first V, releases ...release) release {
	return releases[min(int(max(version, first)-first), len(releases)-1)]
}

// Since returns the oldest minor release of libhdf5, for example "1.10", that reads the superblock,
// its extension, and the objects with their attributes and virtual mappings. Filters, chunks and
// elements are not considered. It returns the first error of these structures.
func (f *File) Since(objects ...*Object) (string, error) {
	r := f.reader()
	need := upTo(f.super.Version, 0, release1_4, release1_6, release1_8, release1_10)
	if s := &f.super; s.Extension.Defined() && s.Version >= 2 && s.Extension < farAddress {
		o, err := r.object(s.Extension)
		if err != nil {
			return "", err
		}
		objects = append([]*Object{o}, objects...)
	}
	for _, o := range objects {
		n, err := r.since(o)
		if err != nil {
			return "", err
		}
		need = max(need, n)
	}
	return need.String(), nil
}

// since returns the first release that reads an object.
func (r *reader) since(o *Object) (need release, err error) {
	need = upTo(o.Version, 1, release1_4, release1_8)
	for i := range o.Messages {
		m := &o.Messages[i]
		n, err := r.sinceMessage(m)
		if err = errors.Join(err, m.Err); err != nil {
			return 0, err
		}
		need = max(need, n)
	}
	for a, err := range o.Attributes() {
		if err != nil {
			return 0, err
		}
		n, err := r.sinceRefs(a.TypeRef, a.SpaceRef)
		if err != nil {
			return 0, err
		}
		need = max(need, n, upTo(a.Version, 1, release1_4, release1_6, release1_8), sinceType(a.Type), upTo(a.Space.Version, 1, release1_4, release1_8))
	}
	maps, err := o.Mappings()
	for _, m := range maps {
		need = max(need, upTo(m.Version, 0, release1_10, release2_0), sinceSelection(&m.Source), sinceSelection(&m.Virtual))
	}
	return need, err
}

// sinceMessage returns the first release that reads a message. Releases before 1.8 refuse unknown
// messages, later ones only if the flags require it.
func (r *reader) sinceMessage(m *Message) (release, error) {
	need, err := r.sinceRefs(m.Ref)
	switch b := m.Body.(type) {
	case *Dataspace:
		need = max(need, upTo(b.Version, 1, release1_4, release1_8))
	case *Datatype:
		need = max(need, sinceType(b))
	case *FillValue:
		if m.Type == FillValueType {
			need = max(need, upTo(b.Version, 1, release1_6, release1_6, release1_8))
		}
	case *Layout:
		need = max(need, upTo(b.Version, 1, release1_4, release1_6, release1_6, release1_10, release2_0))
	case *Pipeline:
		need = max(need, upTo(b.Version, 1, release1_4, release1_8))
	case *LinkInfo, *Link, *GroupInfo, *SharedMessageTable, *BTreeK, *DriverInfo, *AttributeInfo, *RefCount:
		need = max(need, release1_8)
	case *FileSpaceInfo, *CacheImage:
		need = max(need, release1_8)
		if m.Flags&FailIfUnknown != 0 {
			need = max(need, release1_10)
		}
	}
	return need, err
}

// sinceRefs returns the first release that reads references to shared messages and the committed
// datatypes among them. Elements of refs may be nil.
func (r *reader) sinceRefs(refs ...*SharedRef) (need release, err error) {
	for _, ref := range refs {
		if ref == nil {
			continue
		}
		need = max(need, upTo(ref.Version, 1, release1_4, release1_4, release1_8))
		if ref.Type != SharedCommitted || !ref.Addr.Defined() {
			continue
		}
		o, err := r.object(ref.Addr)
		if err != nil {
			return 0, err
		}
		need = max(need, upTo(o.Version, 1, release1_4, release1_8))
	}
	return need, nil
}

// sinceType returns the first release that reads a datatype with its parts.
func sinceType(t *Datatype) release {
	need := upTo(t.Version, 1, release1_4, release1_4, release1_8, release1_12, release2_0)
	if t.Base != nil {
		need = max(need, sinceType(t.Base))
	}
	for i := range t.Members {
		if m := t.Members[i].Type; m != nil {
			need = max(need, sinceType(m))
		}
	}
	return need
}

// sinceSelection returns the first release that reads a serialized selection.
func sinceSelection(s *Selection) release {
	switch s.Kind {
	case SelectHyperslab:
		return upTo(s.Version, 1, release1_4, release1_10, release1_12)
	case SelectPoints:
		return upTo(s.Version, 1, release1_4, release1_12)
	}
	return release1_4
}
