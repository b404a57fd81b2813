package vm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

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

func kernel(dir, image string) (Kernel, error) {
	k := Kernel{Image: image, Version: strings.TrimPrefix(filepath.Base(image), "vmlinuz-")}
	f, err := os.Open(image) // on Ubuntu only root can read kernels
	if err != nil {
		return k, err
	}
	f.Close()
	for _, lib := range []string{"lib", "usr/lib"} {
		k.Modules = filepath.Join(dir, lib, "modules", k.Version)
		dep, err := os.ReadFile(filepath.Join(k.Modules, "modules.dep"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return k, err
		}
		builtin, err := os.ReadFile(filepath.Join(k.Modules, "modules.builtin"))
		if err != nil {
			return k, err
		}
		k.load, err = loadOrder(dep, builtin, essential)
		return k, err
	}
	return k, fmt.Errorf("no lib/modules/%s/modules.dep: /sbin/depmod -b %s %s (package kmod) makes it", k.Version, dir, k.Version)
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
