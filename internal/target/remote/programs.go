package remote

// Programs finds this program for machines.
type Programs struct {
	// Files has paths by architecture as `uname -m` prints it. Where one is missing or "", it is this
	// executable if that suits the machine, else weir-linux-ARCH (GOARCH) next to this executable.
	Files map[string]string
}

// For returns the path of the program for a machine of the architecture that `uname -m` calls machine.
// The error names the file that is missing.
func (p Programs) For(machine string) (path string, err error) { panic("not yet") }
