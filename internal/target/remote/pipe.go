package remote

// A Pipe is a local program, such as ssh or kubectl, whose standard streams lead to another machine.
type Pipe struct{}

// Start starts the program argv with env added to this process's environment. The program has its
// own process group, so Ctrl-C does not reach it.
func Start(argv, env []string) (*Pipe, error) { panic("not yet") }

// Read reads the program's standard output. Where it ends before Close, the error names the
// program, its exit status and the end of its standard error.
func (p *Pipe) Read(b []byte) (int, error) { panic("not yet") }

// Write writes to the program's standard input.
func (p *Pipe) Write(b []byte) (int, error) { panic("not yet") }

// Close closes the program's standard input, ends the program with SIGTERM and then SIGKILL if it
// does not end by itself, and waits for it.
func (p *Pipe) Close() error { panic("not yet") }

// Said returns the end of the program's standard error, at most 4 KiB of printable text.
func (p *Pipe) Said() string { panic("not yet") }
