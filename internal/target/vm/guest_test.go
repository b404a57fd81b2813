package vm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; review the result of -update:\n%s", file, got)
	}
}

// The lists in testdata are excerpts of Debian's, made by depmod -b.
func TestFindKernel(t *testing.T) {
	kernels, cloud := filepath.Join("testdata", "kernels"), filepath.Join("testdata", "cloud")
	empty := t.TempDir()
	bare := t.TempDir() // an unpacked package without depmod's lists
	for _, dir := range []string{"boot", "lib/modules/9.9"} {
		if err := os.MkdirAll(filepath.Join(bare, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bare, "boot", "vmlinuz-9.9"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		dirs          []string
		version, fail string // one of them
	}{
		{[]string{kernels}, "6.12.117+deb12-amd64", ""},
		{[]string{empty, cloud, kernels}, "6.12.117+deb12-amd64", ""},
		{[]string{empty}, "", empty + " has no boot/vmlinuz-*"},
		{[]string{cloud}, "", "it has no module 9pnet_virtio, which a guest needs"},
		{[]string{bare}, "", "/sbin/depmod -b " + bare + " 9.9"},
		{[]string{empty}, "", "install the package"},
	} {
		k, err := FindKernel(tc.dirs...)
		if tc.fail != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fail) {
				t.Errorf("%v: %v, want %s", tc.dirs, err, tc.fail)
			}
			continue
		}
		if err != nil || k.Version != tc.version || !filepath.IsAbs(k.Image) || !filepath.IsAbs(k.Modules) {
			t.Errorf("%v: %+v, %v, want version %s and absolute paths", tc.dirs, k, err, tc.version)
		}
	}
}

func TestLoadOrder(t *testing.T) {
	for _, version := range []string{"6.1.0-56-amd64", "6.12.117+deb12-amd64"} {
		dir := filepath.Join("testdata", "kernels", "lib", "modules", version)
		dep, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
		if err != nil {
			t.Fatal(err)
		}
		builtin, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
		if err != nil {
			t.Fatal(err)
		}
		order, err := loadOrder(dep, builtin, append(slices.Clone(essential), "openvswitch"))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, version+".order", strings.Join(order, "\n")+"\n")
	}
}

// Each module appears once, after the modules that it needs, whatever the lists contain.
func FuzzLoadOrder(f *testing.F) {
	f.Add([]byte("a/9p.ko: a/9pnet.ko a/netfs.ko\na/9pnet.ko:\n"), []byte("b/overlay.ko\n"))
	f.Add([]byte("9p.ko.xz: 9p.ko.xz"), []byte(":"))
	f.Fuzz(func(t *testing.T, dep, builtin []byte) {
		order, err := loadOrder(dep, builtin, []string{"9p", "overlay"})
		if err != nil {
			return
		}
		for i, file := range order {
			if slices.Contains(order[:i], file) {
				t.Errorf("%q twice in %q", file, order)
			}
		}
	})
}

func TestArgs(t *testing.T) {
	m := Machine{
		Kernel: Kernel{Version: "6.1", Image: "/boot/vmlinuz-6.1", Modules: "/lib/modules/6.1"},
		CPUs:   2, Memory: 1 << 30, Write: "/srv/a,b",
	}
	for name, a := range arches {
		for _, accel := range []string{"kvm", "tcg"} {
			golden(t, name+"-"+accel+".args", strings.Join(m.args(a, accel), "\n")+"\n")
		}
	}
	m.Name, m.Write, m.NIC = "h1p1", "", &NIC{Tap: "p1", MAC: "52:54:00:00:01:01", Queues: 2, VHost: VHostOn}
	golden(t, "pod.args", strings.Join(m.args(arches["amd64"], "kvm"), "\n")+"\n")
}

func TestNIC(t *testing.T) {
	good := NIC{Tap: "p1", MAC: "52:54:00:00:01:01", Queues: 1, VHost: VHostAuto}
	if got := good.vhost("tcg"); got != VHostOff {
		t.Errorf("an emulated guest has vhost %s", got)
	}
	if err := good.check(1); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*NIC){
		`invalid TAP device "p1,x=y": want a name without , and =`: func(n *NIC) { n.Tap = "p1,x=y" },
		"2 queues is outside 1..1, the number of CPUs":             func(n *NIC) { n.Queues = 2 },
		`invalid vhost "yes": want auto, on or off`:                func(n *NIC) { n.VHost = "yes" },
		"address 52:54: invalid MAC address":                       func(n *NIC) { n.MAC = "52:54" },
	} {
		n := good
		spoil(&n)
		if err := n.check(1); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A client of a pod that does not start gets the reason and the end of its console.
func TestNoPod(t *testing.T) {
	m := need(t)
	dir := t.TempDir()
	m.Kernel.Image = filepath.Join(dir, "vmlinuz")
	if err := os.WriteFile(m.Kernel.Image, []byte("no kernel"), 0o644); err != nil {
		t.Fatal(err)
	}
	var console strings.Builder
	m.Console, m.NIC = &console, &NIC{Tap: "none", MAC: "52:54:00:00:01:01", Queues: 1, VHost: VHostOff}
	socket := filepath.Join(dir, "sock")
	for who, err := range heard(t, m, socket) {
		if err == nil || !strings.Contains(err.Error(), "the guest did not start (") || !strings.Contains(err.Error(), "console:\nqemu") {
			t.Errorf("%s has heard %v", who, err)
		}
	}
	if !strings.Contains(console.String(), "qemu") {
		t.Errorf("on the console is %q", &console)
	}
}

// heard serves a pod that does not start and returns the errors of its server and its client.
func heard(t *testing.T, m Machine, socket string) map[string]error {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() {
		_, err := Connect(t.Context(), "g", socket, nil)
		told <- err
	}()
	served := servePod(t.Context(), m, l) // not in another goroutine: see Boot
	return map[string]error{"the server": served, "the client": <-told}
}

// The test parses the image by the format's specification.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.ko", "b.ko.xz"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" it is"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := writeImage(&b, Kernel{Modules: dir, load: []string{"b.ko.xz", "a.ko"}}); err != nil {
		t.Skip(err) // a test program with cgo
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	var listing strings.Builder
	for rest := b.Bytes(); len(rest) > 0; {
		field := func(i int) int {
			v, err := strconv.ParseUint(string(rest[6+8*i:14+8*i]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return int(v)
		}
		if magic := string(rest[:6]); magic != "070701" {
			t.Fatalf("magic %q after:\n%s", magic, &listing)
		}
		mode, size, nameSize := field(1), field(6), field(11)
		name := string(rest[110 : 110+nameSize-1])
		start := (110 + nameSize + 3) &^ 3
		content := rest[start : start+size]
		switch {
		case name == selfFile:
			if !bytes.Equal(content, self) {
				t.Errorf("%s is not this program", name)
			}
			content = []byte("this program")
		case name == "TRAILER!!!" && len(rest) != start:
			t.Errorf("%d bytes follow the trailer", len(rest)-start)
		}
		fmt.Fprintf(&listing, "%06o %s %q\n", mode, name, content)
		rest = rest[(start+size+3)&^3:]
	}
	golden(t, "image", listing.String())
}

func TestTail(t *testing.T) {
	var c tail
	if c.String() != "" {
		t.Errorf("a silent console has %q", &c)
	}
	for i := range 100 {
		fmt.Fprintf(&c, "line %d\r\n\x1b[2J\n", i)
	}
	fmt.Fprint(&c, "pan", "ic")
	got := strings.Split(c.String(), "\n")
	if len(got) != tailLines || got[tailLines-1] != "panic" {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
	var endless tail
	for range 100 {
		fmt.Fprint(&endless, strings.Repeat("x", 1000))
	}
	if n := len(endless.String()); n > 8192 {
		t.Errorf("%d bytes are kept of a line without end", n)
	}
}

// A guest that does not start returns the end of its console and leaves nothing behind.
func TestNoBoot(t *testing.T) {
	m := need(t)
	junk := filepath.Join(t.TempDir(), "vmlinuz")
	if err := os.WriteFile(junk, []byte("no kernel"), 0o644); err != nil {
		t.Fatal(err)
	}
	m.Kernel.Image = junk
	_, err := Boot(t.Context(), m)
	if err == nil {
		t.Fatal("a file of text was booted")
	}
	for _, want := range []string{"the guest did not start (", "the virtual machine ended", "console:\nqemu"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

// The wait for a guest is bounded even if QEMU ignores signals. The client gets the console's end.
func TestNeverReady(t *testing.T) {
	m := need(t)
	times := maps.Clone(bootTimes)
	t.Cleanup(func() { bootTimes = times })
	bootTimes = map[string]time.Duration{"kvm": 100 * time.Millisecond, "tcg": 100 * time.Millisecond}
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	script := "#!/bin/sh\ntrap '' TERM INT HUP\necho 'my last words' >&2\nexec sleep 1000\n" // sleep ignores them, too
	if err := os.WriteFile(filepath.Join(dir, here.program), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	m.Console, m.NIC = io.Discard, &NIC{Tap: "none", MAC: "52:54:00:00:01:01", Queues: 1, VHost: VHostOff}
	socket := filepath.Join(dir, "sock")
	for who, err := range heard(t, m, socket) {
		if err == nil || !strings.Contains(err.Error(), "it was not ready within 100ms") || !strings.Contains(err.Error(), "my last words") {
			t.Errorf("%s has heard %v", who, err)
		}
	}
}

// A kernel that a user names is a package's directory, or an image whose header says what it is.
func TestKernelAt(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, b, 0o666)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	x86 := make([]byte, 0x400)
	copy(x86[0x202:], "HdrS")
	x86[0x20e], x86[0x20f] = 0, 1 // at 0x300
	copy(x86[0x300:], "6.9.0-mine (me@here) #1 SMP\x00")
	arm := make([]byte, 0x100)
	copy(arm[56:], "ARM\x64")
	image, foreign, version := put("boot/bzImage", x86), put("boot/vmlinuz-6.9.0-arm", arm), "6.9.0-mine"
	if runtime.GOARCH == "arm64" {
		image, foreign, version = put("boot/vmlinuz-6.9.0-mine", arm), put("boot/bzImage", x86), "6.9.0-mine"
	}
	if _, err := KernelAt(image); err == nil || !strings.Contains(err.Error(), "no lib/modules/"+version+"/modules.dep") {
		t.Errorf("without modules: %v", err)
	}
	var builtin []byte
	for _, m := range essential {
		builtin = append(builtin, "kernel/"+m+".ko\n"...)
	}
	modules := filepath.Dir(put("lib/modules/"+version+"/modules.builtin", builtin))
	put("lib/modules/"+version+"/modules.dep", nil)
	for _, name := range []string{image, image + ":" + modules} {
		if k, err := KernelAt(name); err != nil || k.Version != version || k.Image != image || k.Modules != modules {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Mkdir(filepath.Join(dir, "nodep"), 0o777), syscall.Mkfifo(filepath.Join(dir, "nodep", "modules.dep"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "pipe"), image + ":" + filepath.Join(dir, "nodep")} {
		if _, err := KernelAt(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{put("text", []byte("no kernel")): "is not a kernel", foreign: "is a kernel for", filepath.Join(dir, "none"): "no such file"} {
		if _, err := KernelAt(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
