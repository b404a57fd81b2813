package guest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"

	"github.com/weir-bench/weir/internal/facts"
)

// Checks looks at what a guest needs, always in the same order. It starts none.
func Checks() []facts.Check {
	qemu := facts.Check{Name: "guest: QEMU"}
	if path, err := findQEMU(); err != nil {
		qemu.Detail = err.Error()
	} else {
		qemu.OK, qemu.Detail = true, path
	}
	kernel := facts.Check{Name: "guest: kernel"}
	if k, err := FindKernel(Places()...); err != nil {
		kernel.Detail = err.Error()
	} else {
		kernel.OK, kernel.Detail = true, k.Image
	}
	self := facts.Check{Name: "guest: weir"}
	if err := checkStatic("/proc/self/exe"); err != nil {
		self.Detail = "this program " + err.Error()
	} else {
		self.OK, self.Detail = true, "linked statically"
	}
	modprobe := facts.Check{Name: "guest: modprobe"}
	if path, err := exec.LookPath("/sbin/modprobe"); err != nil { // where kernels look (CONFIG_MODPROBE_PATH)
		modprobe.Detail, modprobe.Fix = "not found: a guest has no device but the plainest", "install the package kmod"
	} else {
		modprobe.OK, modprobe.Detail = true, path
	}
	kvm := facts.Check{Name: "guest: KVM", OK: true, Detail: "/dev/kvm may be used; whether it works shows when a guest starts"}
	if err := kvmErr(); err != nil {
		kvm.OK, kvm.Detail = false, err.Error()+": guests are emulated"
		kvm.Fix = "allow virtual machines in the firmware, or nested ones in the hypervisor"
		if errors.Is(err, fs.ErrPermission) {
			kvm.Fix = "become a member of the group kvm: sudo adduser $USER kvm"
		}
	}
	return []facts.Check{self, qemu, kernel, modprobe, kvm}
}

// kvmErr says why this process may not use KVM. That it may does not mean that
// KVM works: inside a virtual machine it often does not.
func kvmErr() error { return openErr("/dev/kvm") }

// openErr says why a device file cannot be opened.
func openErr(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
