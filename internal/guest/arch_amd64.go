package guest

// What differs between architectures.
const (
	program    = "qemu-system-x86_64"
	Package    = "qemu-system-x86" // Package of Debian and Ubuntu that has QEMU.
	debianArch = "amd64"
	machine    = "q35"
	console    = "ttyS0"
)
