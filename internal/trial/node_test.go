package trial

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/local"
)

// A node has functions as programs and test-set counters.
type node struct {
	name string
	host *target.Host
	run  func(ctx context.Context, argv []string, stdout, stderr io.Writer) error // of a program, or an order

	mu      sync.Mutex
	ticks   int // of user time
	bytes   int // received by eth0
	frags   int // that were sent
	reasm   int // that were received; a third of them in vain
	waiting int // bytes of datagrams that lack a fragment
	port    int // on which a server listens
	asked   int // how often settings were read
	refuse  error
}

func (n *node) Name() string       { return n.name }
func (n *node) CPUs() []int        { return []int{0, 1, 2, 3} }
func (n *node) Host() *target.Host { return n.host }

func (n *node) Sample(_ context.Context, sources ...string) (target.Reading, error) {
	files := slices.DeleteFunc(slices.Clone(sources), func(source string) bool { return source == sample.OfQdisc })
	return local.Sample(n.FS(), files...), nil
}

// Settings counts its calls, and has a device per asked one.
func (n *node) Settings(_ context.Context, devs []string, far []netip.Addr) (evidence.Node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.refuse != nil {
		return evidence.Node{}, n.refuse
	}
	p := evidence.Node{Devices: map[string]evidence.Device{}, PathMTU: map[string]int{}}
	for _, dev := range devs {
		p.Devices[dev] = evidence.Device{MTU: 1500}
	}
	for _, addr := range far {
		p.PathMTU[addr.String()] = 1400
	}
	return p, nil
}

// hostOf is a host with a node's counters.
func hostOf(n *node) *target.Host {
	return &target.Host{ID: n.name, Sample: func(_ context.Context, sources ...string) (target.Reading, error) {
		files := slices.DeleteFunc(slices.Clone(sources), func(source string) bool { return source == sample.OfCores }) // takes real time
		return local.Sample(live{n}, files...), nil
	}}
}

func (n *node) Run(ctx context.Context, c target.Cmd) error {
	c.Stdout = c.Mark.Writer(ctx, n.host, c.Stdout)
	if !slices.Equal(c.Argv, []string{"weir", "engine", "agent"}) {
		return n.run(ctx, c.Argv, c.Stdout, c.Stderr)
	}
	stop := context.AfterFunc(ctx, func() { c.Stdin.(io.Closer).Close() })
	defer stop()
	for orders := bufio.NewScanner(c.Stdin); orders.Scan(); {
		if err := n.run(ctx, []string{orders.Text()}, c.Stdout, c.Stderr); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (n *node) add(ticks, bytes, frags int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ticks, n.bytes, n.frags = n.ticks+ticks, n.bytes+bytes, n.frags+frags
}

func (n *node) FS() fs.FS {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := func(format string, a ...any) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, format, a...)}
	}
	// The CPU is idle by the clock; of every 4 ticks that it works, the kernel sees 3.
	idle := time.Now().UnixMilli()/10 - int64(n.ticks)*4/3
	return fstest.MapFS{
		"proc/1/stat":           text("1 (weir) S 0 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0\n", n.ticks/3),
		"proc/self/stat":        text("1 (weir) S 0 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0\n", n.ticks/3),
		"proc/7/stat":           text("7 (relayd) S 1 7 7 0 -1 0 0 0 0 0 %d 0 0 0\n", n.ticks),
		"proc/7/task/7/stat":    text("7 (relayd) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0\n"),
		"proc/7/task/8/stat":    text("8 (worker1) S 1 7 7 0 -1 0 0 0 0 0 %d 0 0 0\n", n.ticks),
		"proc/7/task/9/stat":    text("9 (idler) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0\n"),
		"proc/net/dev":          text(devHead+"  eth0: %d %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", n.bytes, n.bytes/1000),
		"proc/net/snmp":         text("Ip: Forwarding ReasmReqds ReasmFails FragCreates\nIp: 1 %d %d %d\n", n.reasm, n.reasm/3, n.frags),
		"proc/net/sockstat":     text("FRAG: inuse %d memory %d\n", n.waiting/1024, n.waiting),
		"proc/net/softnet_stat": text("%s\n", strings.Repeat("00000000 ", 15)),
		"proc/net/tcp":          text("  sl  local_address rem_address   st\n   0: 00000000:%04X 00000000:0000 0A\n", n.port),
		"proc/softirqs":         text("                    CPU0\n      NET_TX:       1\n      NET_RX:       1\n"),
		"proc/stat":             text("cpu  %d 0 0 %d 0 0 0 0 0 0\ncpu0 %d 0 0 %d 0 0 0 0 0 0\nctxt 1\nprocesses 1\n", n.ticks, idle, n.ticks, idle),
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": text("2300000\n"),
	}
}

const devHead = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
`

// live is a node's current state without daemons, which are outside the PID namespace.
type live struct{ *node }

func (l live) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "proc/7/") {
		return nil, fs.ErrNotExist
	}
	return l.FS().Open(name)
}
