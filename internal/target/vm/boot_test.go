package vm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
)

func TestMain(m *testing.M) { nstest.Main(m, inside) }

func inside(args []string) int {
	if len(args) == 1 && args[0] == "guest" {
		Init(nil)
	}
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, syscall.SIGINT)
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err == nil {
		err = os.WriteFile("written", kernel, 0o666)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	// The kernel loads the modules for these from the host's files.
	for _, dev := range []string{
		"link add v0 type veth peer name v1", "link add link v0 type ipvlan", "link add link v0 type vlan id 7",
		"link add type wireguard", "link add type geneve id 1 remote 192.0.2.1", "link add type ipip remote 192.0.2.1",
	} {
		if out, err := exec.Command("ip", strings.Fields(dev)...).CombinedOutput(); err != nil {
			fmt.Printf("ip %s: %v: %s\n", dev, err, out)
			return 1
		}
	}
	for _, cmd := range []string{"tc qdisc add dev v0 root netem delay 1ms", "modprobe openvswitch"} {
		f := strings.Fields(cmd)
		if out, err := exec.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
			fmt.Printf("%s: %v: %s\n", cmd, err, out)
			return 1
		}
	}
	fmt.Println("made them")
	fmt.Fprintln(os.Stderr, "and waits")
	<-sigs
	return 7
}

// need skips a test where no guest can run.
func need(t *testing.T, programs ...string) Machine {
	t.Helper()
	nstest.Need(t)
	for _, p := range append(programs, here.program) {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(err)
		}
	}
	k, err := FindKernel(Places()...)
	if err != nil {
		t.Skip(err)
	}
	if err := checkStatic("/proc/self/exe"); err != nil {
		t.Skip(err)
	}
	return Machine{Kernel: k, CPUs: 2, Memory: 512 << 20, Write: t.TempDir()}
}

type interrupted struct{ error }

func (interrupted) Signal() syscall.Signal { return syscall.SIGINT }

// A guest makes devices that this kernel can lack, writes to the host, runs the host's programs and
// gets a signal. Its exit status and output arrive.
func TestBoot(t *testing.T) {
	m := need(t, "ip", "tc", "modprobe")
	ctx, cancel := context.WithCancelCause(t.Context())
	g, err := Boot(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	t.Logf("%s %s, KVM: %v", m.Kernel.Version, g.Accel, g.Declined)
	var out bytes.Buffer
	status, err := g.Run(ctx, []string{"weir", "inside"}, m.Write, &out, writer(func(b []byte) {
		if string(b) == "and waits\n" {
			cancel(interrupted{context.Canceled})
		}
	}))
	if err != nil || status != 7 || out.String() != "made them\n" {
		t.Errorf("status %d, error %v, output:\n%s\nconsole:\n%s", status, err, &out, g.console)
	}
	got, err := os.ReadFile(filepath.Join(m.Write, "written"))
	if strings.TrimSpace(string(got)) != m.Kernel.Version {
		t.Errorf("the host has %q of what the guest wrote, want %s (%v)", got, m.Kernel.Version, err)
	}
}
