package vm

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
)

// Descriptors that QEMU inherits.
const (
	portFD   = 3
	initrdFD = 4
)

// Names of the two file systems that QEMU shares with a guest.
const (
	rootTag  = "root"
	writeTag = "write"
)

type arch struct {
	program string // QEMU's
	qemu    string // QEMU's package in Debian and Ubuntu
	// kernel is the Debian package with the guest kernel. The smaller cloud kernels lack 9p.
	kernel  string
	machine string
	console string
	early   string // makes a kernel print from its first moment in 64-bit mode
	steady  string // keeps an emulated kernel from mistaking a busy host for a broken machine
}

var arches = map[string]arch{
	"amd64": {"qemu-system-x86_64", "qemu-system-x86", "linux-image-amd64", "q35", "ttyS0", "earlyprintk=ttyS0 edd=off", " no_timer_check"},
	"arm64": {"qemu-system-aarch64", "qemu-system-arm", "linux-image-arm64", "virt", "ttyAMA0", "earlycon", ""},
}

// here is this program's architecture, empty if it does not support guests.
var here = arches[runtime.GOARCH]

func findQEMU() (string, error) {
	if here.program == "" {
		return "", fmt.Errorf("guests do not work on %s: they need amd64 or arm64", runtime.GOARCH)
	}
	path, err := facts.LookPath(here.program)
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		return "", err
	}
	if err != nil {
		return "", fmt.Errorf("%s: not found: install the package %s (Debian, Ubuntu)", here.program, here.qemu)
	}
	return path, nil
}

// args returns QEMU's arguments: only necessary devices, because each costs boot time.
func (m Machine) args(a arch, accel string) []string {
	cpu, acc := "host", "kvm"
	if accel == "tcg" {
		cpu, acc = "max", "tcg,thread=multi" // a host thread per CPU
	}
	args := []string{
		"-no-user-config", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-machine", a.machine, "-accel", acc, "-cpu", cpu, "-smp", strconv.Itoa(m.CPUs), "-m", fmt.Sprintf("%dM", m.Memory>>20),
		"-kernel", m.Kernel.Image, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initrdFD), "-append", commandLine(a, accel),
		"-device", "virtio-serial-pci", "-chardev", fmt.Sprintf("socket,id=port,fd=%d", portFD), "-device", "virtserialport,chardev=port",
	}
	args = append(args, share(rootTag, "/", ",readonly=on")...)
	if m.Name != "" {
		args = append(args, "-name", "guest="+m.Name+",debug-threads=on")
	}
	if m.NIC != nil {
		args = append(args, m.NIC.args(accel)...)
	}
	if m.Write != "" {
		args = append(args, share(writeTag, m.Write, "")...)
	}
	return args
}

// share gives the guest a directory over 9p. Its files belong to QEMU's user: security_model=none.
func share(tag, dir, more string) []string {
	return []string{
		"-fsdev", fmt.Sprintf("local,id=%s,path=%s,security_model=none,multidevs=remap%s", tag, strings.ReplaceAll(dir, ",", ",,"), more),
		"-device", fmt.Sprintf("virtio-9p-pci,fsdev=%s,mount_tag=%s", tag, tag),
	}
}

// commandLine returns the kernel's command line; the arguments of process 1 follow "--".
// Mitigations are most expensive under emulation and guard against neighbors that a guest does not
// have. Linux panics when its timer does not seem to tick at boot (check_timer,
// arch/x86/kernel/apic/io_apic.c), which happens when QEMU gets no CPU; under KVM it does not check
// (paravirt_ops_setup, kvm.c).
func commandLine(a arch, accel string) string {
	say := "quiet" + a.steady
	if accel == "kvm" { // see signTime
		say = a.early
	}
	return "console=" + a.console + " " + say + " mitigations=off panic=-1 rdinit=/" + selfFile + " " + facts.GuestKey + "qemu-" + accel + " -- guest"
}
