package guest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/facts"
)

// Descriptors that QEMU gets.
const (
	portFD   = 3
	initrdFD = 4
)

// Names of the two file systems that a guest gets.
const (
	rootTag  = "root"
	writeTag = "write"
)

// args returns QEMU's arguments. Only the devices that are needed are there: each
// costs time at boot, which is emulated where there is no KVM.
func (m Machine) args(accel string) []string {
	cpu, acc := "host", "kvm"
	if accel == "tcg" {
		cpu, acc = "max", "tcg,thread=multi" // a thread of the host per CPU
	}
	args := []string{
		"-no-user-config", "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-machine", machine, "-accel", acc, "-cpu", cpu, "-smp", strconv.Itoa(m.CPUs), "-m", fmt.Sprintf("%dM", m.Memory>>20),
		"-kernel", m.Kernel.Image, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initrdFD), "-append", commandLine(accel),
		"-device", "virtio-serial-pci", "-chardev", fmt.Sprintf("socket,id=port,fd=%d", portFD), "-device", "virtserialport,chardev=port",
	}
	args = append(args, share(rootTag, "/", ",readonly=on")...)
	if m.Write != "" {
		args = append(args, share(writeTag, m.Write, "")...)
	}
	return args
}

// share gives the guest a directory by the 9p protocol. Its files are opened as
// the user who runs QEMU, and new ones are that user's: security_model=none.
func share(tag, dir, more string) []string {
	return []string{
		"-fsdev", fmt.Sprintf("local,id=%s,path=%s,security_model=none,multidevs=remap%s", tag, strings.ReplaceAll(dir, ",", ",,"), more),
		"-device", fmt.Sprintf("virtio-9p-pci,fsdev=%s,mount_tag=%s", tag, tag),
	}
}

// commandLine returns that of the kernel. What follows -- are the arguments of
// process 1. Mitigations cost most where every instruction is emulated, and
// guard against neighbours that a guest does not have.
func commandLine(accel string) string {
	return "console=" + console + " quiet mitigations=off panic=-1 rdinit=/" + selfFile + " " + facts.GuestKey + "qemu-" + accel + " -- guest"
}
