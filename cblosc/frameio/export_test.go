package frameio

// Path returns the file or directory, or "" for OpenReaderAt.
func (a *Array) Path() string { return a.f.path }

// Shape returns the number of elements along each axis, including the new rows.
func (w *ArrayWriter) Shape() []int64 { return w.a.Shape() }

// Path returns the file or directory, or "" for OpenReaderAt.
func (f *Frame) Path() string { return f.path }
