package probe

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// MPI measures messages between two ranks, one at each end, over the network:
// half of a round trip, or bandwidth, at one message size.
//
// One mpirun at the client starts both ranks, the one at the server through
// Window.Shell. The MPI library's own connections cross the network under test
// too: they start the ranks and are idle while those measure. These tools repeat
// a number of messages and not for a time: they have no warm-up of the study's
// and no window, so that there is no CPU time of them.
//
// Between ranks that it takes for neighbours an MPI library uses shared memory
// and not the network, and every network is equally fast. Here it may use TCP
// only, and only on the devices under test; and Measured says what must have
// crossed the path, so that a trial is invalid if it did not.
type MPI struct {
	MPI       string `yaml:"mpi"`       // the library: openmpi or mpich; empty is openmpi
	Tool      string `yaml:"tool"`      // netpipe, mpi4py (its pingpong, mpi4py 4.0 or later) or osu; empty is netpipe
	Bandwidth bool   `yaml:"bandwidth"` // and not the time, is what the probe is for
	Size      int    `yaml:"size"`      // bytes of a message; 0 is 8, or 1 MiB for bandwidth
	Program   string `yaml:"program"`   // the tool where it is not in PATH: /opt/osu/osu_latency, /opt/venv/bin/python3
}

const (
	mpiSize          = 8
	mpiBandwidthSize = 1 << 20
	// maxMPISize keeps both ends' buffers small beside a machine's memory.
	maxMPISize = 1 << 28
)

// Check reports an option that cannot be.
func (p MPI) Check() error {
	switch p.MPI {
	case "", "openmpi", "mpich":
	default:
		return fmt.Errorf("mpi: %q is not one of openmpi, mpich", p.MPI)
	}
	switch p.Tool {
	case "", "netpipe", "mpi4py", "osu":
	default:
		return fmt.Errorf("tool: %q is not one of netpipe, mpi4py, osu", p.Tool)
	}
	if n := p.size(); n < 1 || n > maxMPISize {
		return fmt.Errorf("size: %d bytes is outside 1..%d", n, maxMPISize)
	}
	if n := p.size(); p.Tool == "mpi4py" && n&(n-1) != 0 {
		return fmt.Errorf("size: mpi4py measures powers of two, and %d is none", n)
	}
	return nil
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

func (p MPI) mpich() bool { return p.MPI == "mpich" }

// launcher is what starts the ranks, by its Debian name: there, mpirun is the
// one or the other.
func (p MPI) launcher() string {
	if p.mpich() {
		return "mpiexec.hydra"
	}
	return "mpirun.openmpi"
}

// program is the tool itself.
func (p MPI) program() string {
	switch {
	case p.Program != "":
		return p.Program
	case p.Tool == "mpi4py":
		return "python3"
	case p.Tool == "osu" && p.Bandwidth:
		return "osu_bw"
	case p.Tool == "osu":
		return "osu_latency"
	case p.mpich():
		return "NPmpich2"
	}
	return "NPopenmpi"
}

// Habits implements the optional method of foreign probes. A run takes a second or
// two, and many times that where the CPU is shared: ranks spin.
func (MPI) Habits() Habits {
	return Habits{NoWarmup: true, StartsLate: true, Lasts: 30 * time.Second}
}

// Programs is for the function of this name.
func (p MPI) Programs() []string { return []string{p.launcher(), p.program()} }

// Commands implements Probe. There is no server: the client starts it.
func (p MPI) Commands(w Window) (server, client []string) {
	if len(w.Shell) == 0 {
		w.Shell = []string{"ssh"}
	}
	if p.mpich() {
		return nil, append(p.hydra(w), p.tool()...)
	}
	return nil, append(p.openmpi(w), p.tool()...)
}

// openmpi starts two ranks of Open MPI 4. The two nodes may have one host name,
// so they go by address. Whoever runs a lab is root in it. Without
// --leave-session-attached the daemon at the server would leave the shell that
// started it, and live on when that is killed. Ranks that spin would take the CPU
// from the kernel's threads where there are few: they yield. They are not bound,
// because the nodes' processors are chosen already.
func (p MPI) openmpi(w Window) []string {
	devices := strings.Join(w.Devices, ",")
	argv := []string{p.launcher(), "--allow-run-as-root", "-np", "2",
		"-host", ends(w), "--map-by", "node", "--bind-to", "none",
		"--leave-session-attached",
		"--mca", "plm_rsh_agent", strings.Join(w.Shell, " "),
		"--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", devices, "--mca", "oob_tcp_if_include", devices,
		"--mca", "mpi_yield_when_idle", "1"}
	if w.Dir != "" {
		argv = append(argv, "--mca", "orte_tmpdir_base", w.Dir)
	}
	if p.Tool == "mpi4py" {
		argv = append(argv, "-x", mpi4pyABI+"=openmpi")
	}
	return argv
}

// hydra starts two ranks of MPICH 4. Its launcher takes a program without
// arguments; those go into the environment. UCX would find that both ranks are
// on one machine, whatever their namespaces, and use shared memory.
func (p MPI) hydra(w Window) []string {
	argv := []string{"env", "HYDRA_LAUNCHER_EXTRA_ARGS=" + strings.Join(w.Shell[1:], " "), p.launcher(),
		"-launcher", "rsh", "-launcher-exec", w.Shell[0],
		"-hosts", ends(w), "-ppn", "1", "-n", "2",
		"-genv", "MPIR_CVAR_NOLOCAL", "1",
		"-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", strings.Join(w.Devices, ",")}
	if p.Tool == "mpi4py" {
		argv = append(argv, "-genv", mpi4pyABI, "mpich")
	}
	return argv
}

// mpi4pyABI tells an mpi4py that was built for several MPI libraries (from PyPI,
// 4.1 and later) which one to load. With the wrong one both ranks would be alone.
const mpi4pyABI = "MPI4PY_MPIABI"

func ends(w Window) string { return address(w.Client) + "," + address(w.Server.Addr()) }

// address is "" for none: command lines are also made only to be looked at.
func address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// messages is how many of a size are measured: enough to outlast a disturbance of
// some milliseconds, and some seconds at 100 Mbit/s or on a CPU that is shared.
// NetPIPE left alone measures for 0.25 s, three times, as it thinks beforehand.
func messages(size int) int { return max(10, min(2000, (32<<20)/size)) }

// osuWindow is how many messages osu_bw has under way (WINDOW_SIZE_LARGE in
// osu_util.h); each of its iterations sends so many and waits for one answer.
const osuWindow = 64

// iterations is what OSU's programs count in.
func (p MPI) iterations() int {
	if p.Bandwidth {
		return max(2, messages(p.size())/osuWindow)
	}
	return messages(p.size())
}

// tool is the command line of a rank.
func (p MPI) tool() []string {
	size := strconv.Itoa(p.size())
	switch p.Tool {
	case "mpi4py":
		loop := strconv.Itoa(messages(p.size()))
		return []string{p.program(), "-m", "mpi4py.bench", "pingpong", "-m", size, "-n", size,
			"-l", loop, "--loop-large", loop, "--loop-huge", loop, "-a", "none"}
	case "osu":
		return []string{p.program(), "-m", size + ":" + size,
			"-i", strconv.Itoa(p.iterations()), "-x", strconv.Itoa(p.iterations()/10 + 1)}
	}
	return append([]string{p.program()}, netpipeArgs(p.size())...)
}

// Parse implements Probe. Values: half.rtt (s, half of a round trip, which MPI
// calls latency) and bandwidth (bit/s of payload). NetPIPE and mpi4py have one
// message under way and give both: bandwidth is the size divided by half.rtt.
// osu_latency gives the first alone and osu_bw the second, with 64 messages
// under way. NetPIPE's is the best of its trials, the others' are means.
func (p MPI) Parse(out Output) (Measured, error) {
	var m Measured
	var err error
	switch p.Tool {
	case "mpi4py":
		m, err = p.parseMPI4Py(out.Client)
	case "osu":
		m, err = p.parseOSU(out.Client)
	default:
		m, err = parseNetPIPE(out.ClientErr, p.size(), p.Bandwidth)
	}
	if err != nil {
		return Measured{}, fmt.Errorf("%s: %w", p.program(), err)
	}
	return m, nil
}
