package guest

// What differs between architectures.
const (
	program    = "qemu-system-aarch64"
	Package    = "qemu-system-arm" // Package of Debian and Ubuntu that has QEMU.
	debianArch = "arm64"
	machine    = "virt"
	console    = "ttyAMA0"
)
