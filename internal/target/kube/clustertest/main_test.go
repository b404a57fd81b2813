// Package clustertest tests weir in a real Kubernetes cluster of two nodes. All tests share the
// cluster, and run within scripts/kube.
package clustertest

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/image"
)

const (
	root = "../../../.."
	// dirEnv is set in the cluster: the directory with what the tests need.
	dirEnv = "WEIR_CLUSTER_TEST"
	// statusFD is the pipe on which the tests in the cluster report their exit status.
	statusFD = 3
	// stateFile in that directory names the directory of the cluster.
	stateFile = "state"
)

// Images on every node, besides weir's own. Pods that name none get the shell that weir asks for.
const (
	shellImage = "docker.io/library/busybox:stable"
	twoImage   = "weir.local/two:test" // weir for two architectures
)

var noCluster error

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(dirEnv) != "" {
		inside(m)
	}
	if noCluster = lacks(); noCluster != nil || flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	status, err := outside()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clustertest:", err)
		status = 1
	}
	os.Exit(status)
}

// need skips a test without a cluster.
func need(t *testing.T) {
	t.Helper()
	if noCluster != nil {
		t.Skip(noCluster)
	}
}

// lacks returns why there can be no cluster.
func lacks() error {
	if testing.Short() {
		return errors.New("slow: run without -short")
	}
	if os.Geteuid() != 0 {
		return errors.New("containerd and kubelet need root")
	}
	for _, p := range []string{"containerd", "runc", "etcd", "flanneld", "host-local", "iptables", "nft", "openssl", "busybox"} {
		if facts.Find(p) == "" {
			return fmt.Errorf("%s is missing: make tools", p)
		}
	}
	if cache, err := os.UserCacheDir(); err != nil || facts.Find(filepath.Join(cache, "weir/bin/kube/kubelet")) == "" {
		return errors.New("Kubernetes is not built: make kube")
	}
	if _, err := image.ReadProgram(facts.Find("busybox")); err != nil {
		return fmt.Errorf("a shell image needs Debian's busybox-static: %w", err)
	}
	if err := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "true").Run(); err != nil {
		return fmt.Errorf("no namespaces: %w", err)
	}
	if fs, err := os.ReadFile("/proc/filesystems"); err != nil || !strings.Contains(string(fs), "\toverlay\n") {
		return errors.New("overlayfs: not supported by this kernel")
	}
	return nil
}

// inside runs the tests in the cluster, which then ends as badly as it can: outside kills it.
func inside(m *testing.M) {
	if err := os.WriteFile(filepath.Join(os.Getenv(dirEnv), stateFile), []byte(filepath.Dir(os.Getenv("KUBECONFIG"))), 0o600); err != nil {
		panic(err)
	}
	status := m.Run()
	fmt.Fprintln(os.NewFile(statusFD, "status"), status)
	for {
		_ = syscall.Pause()
	}
}

// outside makes the cluster, in which this program runs again, and returns the exit status of the tests.
func outside() (status int, err error) {
	dir, err := os.MkdirTemp("", "weir-clustertest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	images, err := prepare(dir)
	if err != nil {
		return 0, err
	}
	exe, err := os.Executable()
	if err != nil {
		return 0, err
	}
	heard, said, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer heard.Close()
	cmd := exec.Command(filepath.Join(root, "scripts", "kube"), append([]string{exe}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), dirEnv+"="+dir, "WEIR="+filepath.Join(dir, "weir"), "KUBE_IMAGES="+strings.Join(images, " "))
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdout, os.Stderr, []*os.File{said}
	runtime.LockOSThread() // whose end would be the parent's for Pdeathsig
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, errors.Join(err, said.Close())
	}
	if err := said.Close(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(heard).ReadString('\n')
	if err != nil { // there was no cluster, or the tests died in it
		return 0, fmt.Errorf("scripts/kube: %w", cmd.Wait())
	}
	if _, err := fmt.Sscan(line, &status); err != nil {
		return 0, err
	}
	if err := cmd.Process.Kill(); err != nil {
		return 0, err
	}
	_ = cmd.Wait() // killed
	return status, gone(dir)
}

// patience bounds what takes a moment, on a busy machine.
const patience = 30 * time.Second

// gone returns an error if something of a killed cluster stays.
func gone(dir string) error {
	state, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return err
	}
	group := strings.Replace(filepath.Base(string(state)), ".", "-", 1)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left, err := leftovers(string(state), group, dirEnv+"="+dir)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("left after SIGKILL: %s", strings.Join(left, ", "))
		}
	}
}

// leftovers lists directories, control groups and processes of a cluster.
func leftovers(state, group, env string) (left []string, err error) {
	for _, pattern := range []string{state, "/sys/fs/cgroup/" + group, "/sys/fs/cgroup/*/" + group} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		left = append(left, found...)
	}
	procs, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range procs {
		if b, _ := os.ReadFile(p); strings.Contains("\x00"+string(b), "\x00"+env+"\x00") { // it can be gone
			left = append(left, filepath.Dir(p))
		}
	}
	return left, err
}

// prepare builds weir and the nodes' images in dir.
func prepare(dir string) (images []string, err error) {
	weir := filepath.Join(dir, "weir")
	build := exec.Command("go", "build", "-o", weir, "-ldflags", "-s -w", "github.com/weir-bench/weir/cmd/weir")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build weir: %w\n%s", err, out)
	}
	p, err := image.ReadProgram(weir)
	if err != nil {
		return nil, err
	}
	other := image.Program{Arch: "arm64", Body: header(elf.EM_AARCH64)}
	if p.Arch == other.Arch {
		other = image.Program{Arch: "amd64", Body: header(elf.EM_X86_64)}
	}
	shell, err := busybox()
	if err != nil {
		return nil, err
	}
	for name, parts := range map[string][]image.Image{twoImage: {p.Image(), other.Image()}, shellImage: {shell}} {
		b, err := image.Archive(name, parts...)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, fmt.Sprintf("%d.tar", len(images)))
		if err := os.WriteFile(file, b, 0o600); err != nil {
			return nil, err
		}
		images = append(images, file)
	}
	return images, nil
}

// header returns the header of an ELF file: enough of a program for another architecture, where it never runs.
func header(m elf.Machine) []byte {
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(b[18:], uint16(m))
	return b
}

// busybox returns the image of a shell and the tools that weir needs to get there, as distributions have them.
func busybox() (image.Image, error) {
	path := facts.Find("busybox")
	p, err := image.ReadProgram(path)
	if err != nil {
		return image.Image{}, err
	}
	list, err := exec.Command(path, "--list").Output()
	if err != nil {
		return image.Image{}, fmt.Errorf("busybox --list: %w", err)
	}
	files := []image.File{{Name: "tmp/", Mode: 0o1777}, {Name: "bin/busybox", Mode: 0o755, Body: p.Body}}
	for _, tool := range strings.Fields(string(list)) {
		if tool != "busybox" {
			files = append(files, image.File{Name: "bin/" + tool, Link: "busybox"})
		}
	}
	return image.Image{Arch: p.Arch, Files: files, Config: image.Config{Cmd: []string{"sh"}, Env: []string{"PATH=/bin"}}}, nil
}
