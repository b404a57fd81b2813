package vm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weir-bench/weir/internal/foreign"
)

// maxFile is the longest kernel, module or list of modules, bytes: ten times Debian's largest.
const maxFile = 256 << 20

// A Kernel is a kernel that a guest can run.
type Kernel struct {
	Version string // release: "6.1.0-56-amd64"
	Image   string // vmlinuz, absolute
	Modules string // lib/modules/VERSION, absolute
	load    []string
}

// essential lists the modules to reach the host; the kernel loads others from its files.
var essential = []string{"virtio_pci", "virtio_console", "9pnet_virtio", "9p", "overlay", "virtio_net"}

// Places returns the default kernel directories: installed and unpacked packages.
func Places() []string {
	places := []string{"/"}
	if cache, err := os.UserCacheDir(); err == nil {
		places = append(places, filepath.Join(cache, "weir", "guest"))
	}
	return places
}

// FindKernel returns the newest kernel that a guest can run, from the first of dirs that has one. A
// directory has the layout of a Debian kernel package: boot/vmlinuz-VERSION, and
// lib/modules/VERSION with the lists of depmod(8).
func FindKernel(dirs ...string) (Kernel, error) {
	var why []error
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return Kernel{}, err
		}
		images, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
		if err != nil || len(images) == 0 {
			why = append(why, fmt.Errorf("%s has no boot/vmlinuz-*", dir))
			continue
		}
		slices.SortFunc(images, func(a, b string) int { return slices.Compare(numbers(b), numbers(a)) })
		for _, image := range images {
			k, err := kernel(dir, image)
			if err == nil {
				return k, nil
			}
			why = append(why, fmt.Errorf("%s: %w", image, err))
		}
	}
	return Kernel{}, fmt.Errorf("no kernel for a guest: %s; install the package %s, or unpack it without root: "+
		"apt-get download its newest version, dpkg -x FILE DIR, /sbin/depmod -b DIR VERSION, then give --kernel DIR",
		strings.ReplaceAll(errors.Join(why...).Error(), "\n", "; "), here.kernel)
}

// numbers returns a kernel's version for sorting: 6.12 is newer than 6.1.
func numbers(image string) (ns []int) {
	for _, f := range strings.FieldsFunc(filepath.Base(image), func(r rune) bool { return !unicode.IsDigit(r) }) {
		n, _ := strconv.Atoi(f) // a number too large for a version can sort anywhere
		ns = append(ns, n)
	}
	return ns
}

// KernelAt returns the kernel that a user names: a directory, as of FindKernel; an image; or IMAGE:MODULES, with the
// kernel's lib/modules/VERSION. Without it, modules are next to the image's directory, as in a package, or installed.
func KernelAt(name string) (Kernel, error) {
	image, modules := name, ""
	info, err := os.Stat(name)
	if i := strings.LastIndexByte(name, ':'); err != nil && i > 0 {
		image, modules = name[:i], name[i+1:]
		info, err = os.Stat(image)
	}
	if err != nil {
		return Kernel{}, err
	}
	if info.IsDir() && modules == "" {
		return FindKernel(name)
	}
	k := Kernel{Version: strings.TrimPrefix(filepath.Base(cmp.Or(modules, image)), "vmlinuz-")}
	if err := k.identify(image); err != nil {
		return k, err
	}
	if k.Image, err = filepath.Abs(image); err != nil {
		return k, err
	}
	if modules == "" {
		return k.complete(filepath.Dir(filepath.Dir(k.Image)), "/")
	}
	if modules, err = filepath.Abs(modules); err == nil {
		err = k.from(modules)
	}
	return k, err
}

// release is what the name of a kernel can be: it becomes part of paths.
var release = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~_-]*$`)

// identify returns an error unless a file is a kernel for guests of this machine. It takes the version from the file if
// the file states one: an x86 kernel does (Documentation/arch/x86/boot.rst, kernel_version), and one for arm64 does not
// (Documentation/arch/arm64/booting.rst).
func (k *Kernel) identify(image string) error {
	f, err := foreign.Open(image, maxFile)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, 0x200+1<<16+256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", image, err)
	}
	arch := ""
	switch head = head[:n]; {
	case n > 0x210 && string(head[0x202:0x206]) == "HdrS":
		arch = "amd64"
		if at := int(binary.LittleEndian.Uint16(head[0x20e:])); at > 0 && 0x200+at < n {
			text, _, _ := bytes.Cut(head[0x200+at:], []byte{0})
			if words := strings.Fields(string(text)); len(words) > 0 {
				k.Version = words[0]
			}
		}
	case n > 60 && string(head[56:60]) == "ARM\x64":
		arch = "arm64"
	default:
		return fmt.Errorf("%s is not a kernel: want what a package has as vmlinuz, or a build as bzImage (x86) or Image (arm64)", image)
	}
	switch {
	case arch != runtime.GOARCH:
		return fmt.Errorf("%s is a kernel for %s, and guests of this machine need one for %s", image, arch, runtime.GOARCH)
	case !release.MatchString(k.Version):
		return fmt.Errorf("%s: %q is not the version of a kernel", image, k.Version)
	}
	return nil
}

func kernel(dir, image string) (Kernel, error) {
	k := Kernel{Image: image, Version: strings.TrimPrefix(filepath.Base(image), "vmlinuz-")}
	f, err := foreign.Open(image, maxFile) // on Ubuntu only root can read kernels
	if err != nil {
		return k, err
	}
	f.Close()
	return k.complete(dir)
}

// complete finds the kernel's modules below one of dirs.
func (k Kernel) complete(dirs ...string) (Kernel, error) {
	for _, dir := range dirs {
		for _, lib := range []string{"lib", "usr/lib"} {
			err := k.from(filepath.Join(dir, lib, "modules", k.Version))
			if !errors.Is(err, fs.ErrNotExist) {
				return k, err
			}
		}
	}
	return k, fmt.Errorf("no lib/modules/%s/modules.dep: /sbin/depmod -b %s %s (package kmod) makes it", k.Version, dirs[0], k.Version)
}

// from reads which modules the kernel must load, and from where.
func (k *Kernel) from(modules string) error {
	modules, err := filepath.EvalSymlinks(modules) // a guest resolves them below another root
	if err != nil {
		return err
	}
	dep, err := foreign.ReadFile(filepath.Join(modules, "modules.dep"), maxFile)
	if err != nil {
		return err
	}
	builtin, err := foreign.ReadFile(filepath.Join(modules, "modules.builtin"), maxFile)
	if err != nil {
		return err
	}
	k.Modules = modules
	k.load, err = loadOrder(dep, builtin, essential)
	return err
}

// loadOrder returns the files of the named modules in loading order, from the lists of depmod(8)
// and the kernel's build. In a line of modules.dep a module precedes those it needs, each before
// its own needs (kmod, tools/depmod.c, output_deps).
func loadOrder(dep, builtin []byte, names []string) ([]string, error) {
	lines := map[string][]string{} // by name: the file, then its dependencies
	for line := range bytes.Lines(dep) {
		file, needs, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		lines[moduleName(file)] = append([]string{file}, strings.Fields(needs)...)
	}
	for line := range bytes.Lines(builtin) {
		if name := moduleName(strings.TrimSpace(string(line))); lines[name] == nil {
			lines[name] = []string{} // nothing to load
		}
	}
	var order []string
	for _, name := range names {
		files, ok := lines[name]
		if !ok {
			return nil, fmt.Errorf("it has no module %s, which a guest needs", name)
		}
		for _, f := range slices.Backward(files) {
			if !slices.Contains(order, f) {
				order = append(order, f)
			}
		}
	}
	return order, nil
}

// moduleName returns the module name of a file. The kernel treats - and _ alike.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}
