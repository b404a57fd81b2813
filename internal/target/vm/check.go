package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/weir-bench/weir/internal/facts"
)

// Err returns why no guest can start here, whatever its kernel; nil if one can.
func Err() error {
	_, err := findQEMU()
	if err == nil {
		if err = checkStatic("/proc/self/exe"); err != nil {
			err = fmt.Errorf("this program %w", err)
		}
	}
	return err
}

// Checks checks what a guest needs, in a fixed order. It starts no guest.
func Checks() []facts.Check {
	check := func(name, found string, err error) facts.Check {
		if err != nil {
			return facts.Check{Name: "guest: " + name, Detail: err.Error()}
		}
		return facts.Check{Name: "guest: " + name, OK: true, Detail: found}
	}
	qemu, noQEMU := findQEMU()
	kernel, noKernel := FindKernel(Places()...)
	dynamic := checkStatic("/proc/self/exe")
	if dynamic != nil {
		dynamic = fmt.Errorf("this program %w", dynamic)
	}
	path, err := facts.LookPath("/sbin/modprobe") // the path that kernels use (CONFIG_MODPROBE_PATH)
	modprobe := check("modprobe", path, err)
	if err != nil {
		modprobe.Detail, modprobe.Fix = "not found: a guest has only the plainest devices", "install the package kmod"
	}
	kvm := facts.Check{Name: "guest: KVM", OK: true, Detail: "/dev/kvm can be opened; whether it works shows when a guest starts"}
	if err := kvmErr(); err != nil {
		kvm.OK, kvm.Detail = false, err.Error()+": guests are emulated"
		kvm.Fix = "allow virtual machines in the firmware, or nested ones in the hypervisor"
		if errors.Is(err, fs.ErrPermission) {
			kvm.Fix = "become a member of the group kvm: sudo adduser $USER kvm"
		}
	}
	return []facts.Check{check("weir", "linked statically", dynamic), check("QEMU", qemu, noQEMU),
		check("kernel", kernel.Image, noKernel), modprobe, kvm}
}

// errPVM means that KVM cannot run an ordinary kernel.
var errPVM = errors.New("KVM is PVM here, without hardware support (kvm_pvm): it only runs kernels built for PVM, and no distribution has one")

// kvmErr returns why KVM is unusable. Inside a virtual machine KVM can fail without an error here.
func kvmErr() error {
	if err := openErr("/dev/kvm"); err != nil {
		return err
	}
	return pvm(os.DirFS("/"))
}

// pvm returns errPVM where a virtual machine has KVM although its hypervisor provides no hardware
// support. An ordinary kernel hangs under it soon after its start.
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

func openErr(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}
