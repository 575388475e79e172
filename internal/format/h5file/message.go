// Messages of object headers, with their types and flags (File Format, IV.A.1 and IV.A.2).

package h5file

import (
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// MessageType is the type of a header message.
type MessageType uint16

// Types of messages (H5O_*_ID). The specification lists 0x0018 for FileSpaceInfoType. In libhdf5
// and in all files it is 0x0017, and 0x0018 is the metadata cache image.
const (
	NilType                MessageType = 0x0000
	DataspaceType          MessageType = 0x0001
	LinkInfoType           MessageType = 0x0002
	DatatypeType           MessageType = 0x0003
	OldFillValueType       MessageType = 0x0004
	FillValueType          MessageType = 0x0005
	LinkType               MessageType = 0x0006
	ExternalFilesType      MessageType = 0x0007
	LayoutType             MessageType = 0x0008
	BogusType              MessageType = 0x0009
	GroupInfoType          MessageType = 0x000A
	PipelineType           MessageType = 0x000B
	AttributeType          MessageType = 0x000C
	CommentType            MessageType = 0x000D
	OldModTimeType         MessageType = 0x000E
	SharedMessageTableType MessageType = 0x000F
	ContinuationType       MessageType = 0x0010
	SymbolTableType        MessageType = 0x0011
	ModTimeType            MessageType = 0x0012
	BTreeKType             MessageType = 0x0013
	DriverInfoType         MessageType = 0x0014
	AttributeInfoType      MessageType = 0x0015
	RefCountType           MessageType = 0x0016
	FileSpaceInfoType      MessageType = 0x0017
	CacheImageType         MessageType = 0x0018
)

var messageNames = [...]string{
	"NIL", "dataspace", "link info", "datatype", "fill value (old)", "fill value", "link", "external data files",
	"data layout", "bogus", "group info", "filter pipeline", "attribute", "object comment", "object modification time (old)",
	"shared message table", "object header continuation", "symbol table", "object modification time", "B-tree K values",
	"driver info", "attribute info", "object reference count", "file space info", "metadata cache image",
}

// Known reports whether libhdf5 supports the type. BogusType exists only in test builds of libhdf5.
func (t MessageType) Known() bool { return int(t) < len(messageNames) && t != BogusType }

// String returns the name of the type in the specification.
func (t MessageType) String() string {
	if int(t) < len(messageNames) {
		return messageNames[t]
	}
	return fmt.Sprintf("unknown message %#04x", uint16(t))
}

// shareable reports whether such a message may be stored elsewhere and shared by objects
// (H5O_SHARE_IS_SHARABLE).
func (t MessageType) shareable() bool {
	switch t {
	case DataspaceType, DatatypeType, OldFillValueType, FillValueType, PipelineType, AttributeType, BogusType:
		return true
	}
	return false
}

// MessageFlags are the flags of a header message.
type MessageFlags uint8

// Flags of a message (IV.A.1.a).
const (
	Constant           MessageFlags = 1 << iota // must not change
	Shared                                      // the message is stored elsewhere, and its body is a SharedRef
	NotShareable                                // must not be shared
	FailWriteIfUnknown                          // a program that does not support the type must not write to the file
	MarkIfUnknown                               // a program that does not support the type must set WasUnknown when it writes
	WasUnknown                                  // a program that did not support the type changed the object
	Shareable                                   // may be shared
	FailIfUnknown                               // a program that does not support the type must not open the object
)

var flagNames = [...]string{"constant", "shared", "not shareable", "fail on write if unknown", "mark if unknown", "was unknown", "shareable", "fail if unknown"}

// String returns the names of the flags.
func (f MessageFlags) String() string {
	var s []string
	for i, name := range flagNames {
		if f>>i&1 != 0 {
			s = append(s, name)
		}
	}
	return strings.Join(s, ", ")
}

// Body is the content of a message: *Dataspace, *LinkInfo, *Datatype, *FillValue,
// *Link, *ExternalFiles, *Layout, *Bogus, *GroupInfo, *Pipeline, *Attribute,
// *Comment, *ModTime, *SharedMessageTable, *Continuation, *SymbolTable, *BTreeK,
// *DriverInfo, *AttributeInfo, *RefCount, *FileSpaceInfo or *CacheImage.
type Body interface{ body() }

func (*Dataspace) body()          {}
func (*LinkInfo) body()           {}
func (*Datatype) body()           {}
func (*FillValue) body()          {}
func (*Link) body()               {}
func (*ExternalFiles) body()      {}
func (*Layout) body()             {}
func (*Bogus) body()              {}
func (*GroupInfo) body()          {}
func (*Pipeline) body()           {}
func (*Attribute) body()          {}
func (*Comment) body()            {}
func (*ModTime) body()            {}
func (*SharedMessageTable) body() {}
func (*Continuation) body()       {}
func (*SymbolTable) body()        {}
func (*BTreeK) body()             {}
func (*DriverInfo) body()         {}
func (*AttributeInfo) body()      {}
func (*RefCount) body()           {}
func (*FileSpaceInfo) body()      {}
func (*CacheImage) body()         {}

// Message is one message of an object header.
type Message struct {
	Type   MessageType
	Flags  MessageFlags
	Order  uint16     // creation order, if the header tracks it
	Chunk  int        // the chunk of the header that contains it: 0, then the continuations
	Offset int64      // bytes from the start of the file to the content
	Size   int        // bytes of the content
	Ref    *SharedRef // location of a shared message; nil for other messages
	// Body is the content, or its readable part. For a shared message it is the content stored
	// elsewhere. It is nil for NIL and unknown messages.
	Body Body
	Err  error // first error of the message, or nil
}

// checkFlags reports invalid flags, as libhdf5 does (H5O__chunk_deserialize).
func (m *Message) checkFlags(p *part) {
	f := m.Flags
	p.hex()
	p.mean("%s", f)
	switch {
	case f&Shared != 0 && f&NotShareable != 0:
		p.bad("shared and not shareable", "one of them")
	case f&WasUnknown != 0 && f&FailWriteIfUnknown != 0:
		p.bad("was unknown, though unknown ones forbid writing", "one of them")
	case f&WasUnknown != 0 && f&MarkIfUnknown == 0:
		p.bad("was unknown, though not to be marked", "both or none")
	case f&Shareable != 0 && m.Type.Known() && !m.Type.shareable():
		p.bad("a shareable "+m.Type.String(), "a type that can be shared")
	}
	if !m.Type.Known() && f&FailIfUnknown != 0 {
		p.badAs(format.ErrUnsupported, m.Type.String()+" that must be understood", "a message that may be ignored")
	}
}

// content reads the content of m.
func (p *part) content(o *Object, m *Message) {
	if m.Flags&Shared != 0 && m.Type.shareable() {
		ref := p.sharedRef()
		m.Ref = &ref
		if p.err == nil {
			body, err := p.r.resolve(ref, m.Type, p.summed)
			m.Body = body
			p.fail(err)
		}
		return
	}
	if m.Type == FileSpaceInfoType && m.Flags&WasUnknown != 0 {
		// A program that does not support the message has changed the file. The message is
		// outdated, and libhdf5 ignores it.
		return
	}
	m.Body = p.unshared(o, m.Type)
}

// unshared reads the content of a message that is stored here.
func (p *part) unshared(o *Object, t MessageType) Body {
	switch t {
	case DataspaceType:
		return p.dataspace()
	case LinkInfoType:
		return p.linkInfo()
	case DatatypeType:
		return p.datatype()
	case OldFillValueType:
		return p.oldFill()
	case FillValueType:
		return p.fill()
	case LinkType:
		return p.link()
	case ExternalFilesType:
		return p.externalFiles()
	case LayoutType:
		return p.layout()
	case BogusType:
		return p.bogus()
	case GroupInfoType:
		return p.groupInfo()
	case PipelineType:
		return p.pipeline()
	case AttributeType:
		return p.attribute()
	case CommentType:
		return &Comment{Text: p.cstring("comment", 1)}
	case OldModTimeType:
		return p.oldModTime()
	case SharedMessageTableType:
		return p.sharedMessageTable()
	case ContinuationType:
		return &Continuation{Addr: p.addr("offset"), Length: p.length("length")}
	case SymbolTableType:
		return &SymbolTable{BTree: p.addr("v1 B-tree address"), Heap: p.addr("local heap address")}
	case ModTimeType:
		return p.modTime()
	case BTreeKType:
		return p.btreeK()
	case DriverInfoType:
		return p.driverInfo()
	case AttributeInfoType:
		return p.attributeInfo()
	case RefCountType:
		return p.refCount(o)
	case FileSpaceInfoType:
		return p.fileSpaceInfo()
	case CacheImageType:
		return p.cacheImage()
	}
	return nil
}
