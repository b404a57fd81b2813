package remote

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Programs finds this program for machines.
type Programs struct {
	// Files has paths by architecture as `uname -m` prints it. Where one is missing or "", it is this
	// executable if that suits the machine, else weir-linux-ARCH (GOARCH) next to this executable.
	Files map[string]string
}

// architectures has GOARCH and the machine in the headers of programs by architecture as `uname -m` prints it.
var architectures = map[string]struct {
	goarch  string
	machine elf.Machine
}{
	"x86_64":  {"amd64", elf.EM_X86_64},
	"aarch64": {"arm64", elf.EM_AARCH64},
	"riscv64": {"riscv64", elf.EM_RISCV},
	"ppc64le": {"ppc64le", elf.EM_PPC64},
	"s390x":   {"s390x", elf.EM_S390},
}

// self is this program, even after its file has been removed or replaced.
const self = "/proc/self/exe"

// For returns the path of the program for a machine of the architecture that `uname -m` calls machine.
// The error names the file that is missing.
func (p Programs) For(machine string) (path string, err error) {
	arch := architectures[machine]
	path = p.Files[machine]
	switch {
	case path != "":
	case arch.goarch == "":
		return "", fmt.Errorf("no program for the architecture %.40q: weir knows x86_64, aarch64, riscv64, ppc64le and s390x", machine)
	case arch.goarch == runtime.GOARCH:
		return self, nil
	default:
		here, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find weir for %s: %w", machine, err)
		}
		path = filepath.Join(filepath.Dir(here), "weir-linux-"+arch.goarch)
	}
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("no program for the architecture %s: %w; put weir of the same version for %s there", machine, err, cmp.Or(arch.goarch, machine))
	}
	defer f.Close()
	if arch.goarch != "" && f.Machine != arch.machine {
		return "", fmt.Errorf("no program for the architecture %s: %s is for %v", machine, path, f.Machine)
	}
	return path, nil
}
