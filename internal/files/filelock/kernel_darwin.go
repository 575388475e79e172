package filelock

// The system has no lock of an open file that does not conflict with flock.

func (on *inode) hasSeparateLocks() bool { return false }
func (on *inode) lockByte() error        { return nil }
func (on *inode) mark()                  {}
func (on *inode) announce()              {}
func (on *inode) awaited() bool          { return false }
func (on *inode) holder() string         { return "" }
func (on *inode) libraryHolder() string  { return "" }
func (on *inode) lockWithin() error      { return nil }
