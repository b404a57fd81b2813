package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// MPI measures messages between two ranks, one at each end: half a round trip, or bandwidth, at one
// message size.
//
// One mpirun at the client starts both ranks, the remote one through Window.Shell. The library's
// control connections also cross the network under test; they are idle during the measurement.
// These tools send a fixed number of messages: the study's warm-up and window do not apply, so the
// CPU time is unknown.
//
// MPI libraries use shared memory between ranks on one machine, which would make all networks
// equally fast. The probe therefore allows only TCP on the devices under test, and Measured gives
// the traffic that must have crossed the path for the trial to be valid.
type MPI struct {
	Tool      string `yaml:"tool"`      // netpipe or osu; empty is netpipe
	Bandwidth bool   `yaml:"bandwidth"` // report bandwidth first instead of time
	Size      int    `yaml:"size"`      // bytes of a message; 0 is 8, or 1 MiB for bandwidth
	Program   string `yaml:"program"`   // path of a tool outside PATH: /opt/osu/osu_latency
}

const (
	mpiSize          = 8
	mpiBandwidthSize = 1 << 20
	// maxMPISize keeps both ends' buffers small relative to a machine's memory.
	maxMPISize = 1 << 28
)

func (p MPI) Check() error {
	if !slices.Contains([]string{"", "netpipe", "osu"}, p.Tool) {
		return fmt.Errorf("tool: %q is not one of netpipe, osu", p.Tool)
	}
	return event.Within("size:", p.size(), 1, maxMPISize, "bytes")
}

func (p MPI) size() int {
	switch {
	case p.Size != 0:
		return p.Size
	case p.Bandwidth:
		return mpiBandwidthSize
	}
	return mpiSize
}

// mpirun starts the ranks. It has the Debian name, because Debian's mpirun can be another library's.
var mpirun = facts.ToolInfo{Program: "mpirun.openmpi", Package: "openmpi-bin", VersionArgs: []string{"--version"}, Version: `(?m)^mpirun\S* \([^)]+\) (\S+)`}

const osu = "of OSU's micro-benchmarks (no package has it: build them, mvapich.cse.ohio-state.edu/benchmarks)"

func (p MPI) rank() facts.ToolInfo {
	switch {
	case p.Program != "":
		return facts.ToolInfo{Program: p.Program}
	case p.Tool == "osu" && p.Bandwidth:
		return facts.ToolInfo{Program: "osu_bw", Package: osu}
	case p.Tool == "osu":
		return facts.ToolInfo{Program: "osu_latency", Package: osu}
	}
	return facts.ToolInfo{Program: "NPopenmpi", Package: "netpipe-openmpi"}
}

// A run takes one or two seconds, but many times that on shared CPUs, because ranks spin.
const mpiTakes, mpiAtMost = 2 * time.Second, 30 * time.Second

func (p MPI) Info() Info {
	tool, short, how := "NetPIPE", "MPI %s", "the best of three trials"
	if p.Tool == "osu" {
		tool, short, how = p.rank().Program, "MPI %s (OSU)", "the mean, which slow messages raise; excludes a warm-up of its own"
	}
	by := tool + " over Open MPI"
	i := Info{
		Title: "MPI latency (" + tool + ", Open MPI)", Short: fmt.Sprintf(short, "latency"), Unit: "s",
		About:    "half a round trip of an MPI message, by " + by,
		Method:   "Half the time of one message there and one back: " + how + ".",
		Measures: mpiTime, Differs: how,
		Tools:    []facts.ToolInfo{mpirun, p.rank()},
		NoWarmup: true, StartsLate: true, Takes: mpiTakes, AtMost: mpiAtMost,
		Direct: "starts processes that call each other at their own addresses",
	}
	if p.Bandwidth {
		i.Title, i.Short, i.Unit = strings.Replace(i.Title, "latency (", "bandwidth (", 1), fmt.Sprintf(short, "bandwidth"), "bit/s"
		i.About = "bandwidth of large MPI messages, by " + by
		i.Method = "Large messages, one at a time there and back: their size divided by half of that time."
		i.Measures, i.Differs = mpiBandwidth, "one message at a time, there and back; "+how
	}
	if p.Bandwidth && p.Tool == "osu" {
		i.About, i.Method = "bandwidth of MPI messages, 64 in flight, by "+by, "Large messages, 64 in flight."
		i.Differs = "64 messages in flight, one way, so it finds more than the others; mean"
	}
	return i
}

// Commands starts two ranks of Open MPI 4. It identifies the nodes by address, because they can
// share a host name. A lab's user is root inside it. Without --leave-session-attached, the daemon
// at the server would detach from its shell and survive it. Ranks yield, because spinning on few
// CPUs would starve the kernel's threads. They are not bound, because weir has already chosen the
// nodes' CPUs.
func (p MPI) Commands(w Window) (server, client []string) {
	if len(w.Shell) == 0 {
		w.Shell = []string{"ssh"}
	}
	devices := strings.Join(w.Devices, ",")
	client = []string{mpirun.Program, "--allow-run-as-root", "-np", "2",
		"-host", ends(w), "--map-by", "node", "--bind-to", "none",
		"--leave-session-attached",
		"--mca", "plm_rsh_agent", strings.Join(w.Shell, " "),
		"--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", devices, "--mca", "oob_tcp_if_include", devices,
		"--mca", "mpi_yield_when_idle", "1"}
	if w.Dir != "" {
		client = append(client, "--mca", "orte_tmpdir_base", w.Dir)
	}
	return nil, append(client, p.tool()...)
}

func ends(w Window) string { return address(w.Client) + "," + address(w.Server.Addr()) }

// address returns "" for an invalid address, which occurs in command lines that weir only prints.
func address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// messages returns the number of messages to measure: enough to outlast a disturbance of some
// milliseconds, and to last some seconds at 100 Mbit/s or on a shared CPU. NetPIPE would choose a
// number that it expects to take 0.25 s, three times.
func messages(size int) int { return max(10, min(2000, (32<<20)/size)) }

// osuWindow is the number of messages that osu_bw sends per iteration before it waits for an answer
// (WINDOW_SIZE_LARGE in osu_util.h).
const osuWindow = 64

func (p MPI) iterations() int {
	if p.Bandwidth {
		return max(2, messages(p.size())/osuWindow)
	}
	return messages(p.size())
}

func (p MPI) tool() []string {
	if p.Tool == "osu" {
		size := strconv.Itoa(p.size())
		return []string{p.rank().Program, "-m", size + ":" + size,
			"-i", strconv.Itoa(p.iterations()), "-x", strconv.Itoa(p.iterations()/10 + 1)}
	}
	return append([]string{p.rank().Program}, netpipeArgs(p.size())...)
}

// Parse reads half.rtt (s, half a round trip, which MPI calls latency) and bandwidth (bit/s of
// payload). NetPIPE reports both, the best of its trials, with one message in flight: bandwidth is the size
// divided by half.rtt. osu_latency reports only the first; osu_bw only the second, with 64 messages
// in flight; both report a mean.
func (p MPI) Parse(out Output) (Measured, error) {
	parse := func() (Measured, error) { return parseNetPIPE(out.ClientErr, p.size(), p.Bandwidth) }
	if p.Tool == "osu" {
		parse = func() (Measured, error) { return p.parseOSU(out.Client) }
	}
	m, err := parse()
	return checked(p.rank().Program, m, err)
}

// osuRE matches the table of osu_latency and osu_bw: bytes, then µs or MB/s (10^6).
var (
	osuRE   = regexp.MustCompile(`(?m)^(\d{1,10}) +([0-9.]{1,20}) *\r?$`)
	osuHead = regexp.MustCompile(`(?m)^# OSU MPI\S* (Latency|Bandwidth) Test v(\S+) *\r?$`)
)

// parseOSU reads the first rank's output. It checks the first line, because Program can name the
// wrong tool.
func (p MPI) parseOSU(b []byte) (Measured, error) {
	if len(b) == 0 {
		return Measured{}, errNoOutput
	}
	head, asked := osuHead.FindSubmatch(b), "Latency"
	if p.Bandwidth {
		asked = "Bandwidth"
	}
	if head == nil || string(head[1]) != asked {
		return Measured{}, fmt.Errorf("output %.60q is not from the OSU MPI %s Test", b, asked)
	}
	f, err := row(b, osuRE, p.size())
	if err != nil {
		return Measured{}, err
	}
	size, v, n := f[0].value, f[1].value, float64(p.iterations())
	if v <= 0 {
		return Measured{}, fmt.Errorf("%s of %g", asked, v)
	}
	m := Measured{Protocol: "tcp", Moved: n * size, Messages: n, Observed: record.Observed{}}
	record.Tool.Put(m.Observed, "OSU micro-benchmarks "+string(head[2]))
	if p.Bandwidth {
		m.Moved *= osuWindow // messages can share a packet; answers cannot
		m.Values = []record.Value{{Name: record.Bandwidth, Unit: "bit/s", Value: v * 8e6}}
	} else {
		m.Values = []record.Value{{Name: record.HalfRTT, Unit: "s", Value: v / 1e6}}
	}
	return m, nil
}

var errNoOutput = errors.New("no output: the tool was killed, or refused its command line")

// row returns the numbers of the only line that re matches. The first must be size, in bytes.
func row(b []byte, re *regexp.Regexp, size int) ([]rounded, error) {
	if len(b) == 0 {
		return nil, errNoOutput
	}
	rows := re.FindAllSubmatch(b, -1)
	if len(rows) != 1 {
		return nil, fmt.Errorf("%d result lines, want 1: the output ends with %q", len(rows), b[max(0, len(b)-200):])
	}
	f, err := numbers(rows[0][1:])
	if err != nil {
		return nil, err
	}
	if f[0].value != float64(size) {
		return nil, fmt.Errorf("measured messages of %.0f bytes, asked for %d", f[0].value, size)
	}
	return f, nil
}
