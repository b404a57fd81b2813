package vm

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"

	"github.com/weir-bench/weir/internal/facts"
)

// Checks looks at what a guest needs, always in the same order. It starts no guest.
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
		modprobe.Detail, modprobe.Fix = "not found: a guest has only the plainest devices", "install the package kmod"
	} else {
		modprobe.OK, modprobe.Detail = true, path
	}
	kvm := facts.Check{Name: "guest: KVM", OK: true, Detail: "/dev/kvm can be opened; whether it works shows when a guest starts"}
	if err := kvmErr(); err != nil {
		kvm.OK, kvm.Detail = false, err.Error()+": guests are emulated"
		kvm.Fix = "allow virtual machines in the firmware, or nested ones in the hypervisor"
		if errors.Is(err, fs.ErrPermission) {
			kvm.Fix = "become a member of the group kvm: sudo adduser $USER kvm"
		}
	}
	return []facts.Check{self, qemu, kernel, modprobe, kvm}
}

// errPVM is why KVM cannot run a guest with an ordinary kernel.
var errPVM = errors.New("KVM is PVM here, without hardware support (kvm_pvm): it only runs kernels built for PVM, and no distribution has one")

// kvmErr returns why this process cannot use KVM. Even without an error KVM need not
// work: inside a virtual machine it often does not.
func kvmErr() error {
	if err := openErr("/dev/kvm"); err != nil {
		return err
	}
	return pvm(os.DirFS("/"))
}

// pvm returns errPVM where a virtual machine has KVM although its hypervisor gives it no
// hardware support. An ordinary kernel hangs under it soon after its start.
func pvm(root fs.FS) error {
	has := func(module string) bool {
		_, err := fs.Stat(root, "sys/module/"+module)
		return err == nil
	}
	if has("kvm_pvm") && !has("kvm_intel") && !has("kvm_amd") {
		return errPVM
	}
	return nil
}

// openErr returns why a device file cannot be opened.
func openErr(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
