package probe

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
)

// PGBench measures transactions/s of PostgreSQL with pgbench: SELECTs of one row, or transactions like those of TPC-B. The
// server makes its data in memory, as an ordinary user, before each trial, and pgbench fills its tables before the window.
type PGBench struct {
	Write       bool `yaml:"write"`       // TPC-B-like transactions instead of SELECTs
	Connections int  `yaml:"connections"` // with one transaction at a time each; default 4
	Scale       int  `yaml:"scale"`       // of the tables, 100000 rows each; default 1
}

const (
	pgConnections, pgMostConnections = 4, 90
	pgScale, pgMostScale             = 1, 20 // 15 MB of memory each
)

func (p PGBench) Info() Info {
	const row, seven = 100, 7 // bytes of an answer; BEGIN, five statements and END
	pkg := "postgresql"
	i := Info{Asks: Asks{1, or(p.Connections, pgConnections), row}, Title: "PostgreSQL SELECT (pgbench)", Short: "PostgreSQL SELECT", Unit: "1/s", NoWarmup: true, StartsLate: true,
		About:  "SELECTs per second of PostgreSQL, by pgbench",
		Method: "Each connection reads a random row by its key, again and again, with one thread of pgbench for all. Connecting and filling the tables is not counted.",
		Tools: []facts.ToolInfo{{Program: "initdb", Package: pkg, VersionArgs: []string{"--version"}, Version: `\(PostgreSQL\) (\S+)`},
			{Program: "postgres", Package: pkg, VersionArgs: []string{"--version"}, Version: `\(PostgreSQL\) (\S+)`},
			{Program: "pgbench", Package: pkg, VersionArgs: []string{"--version"}, Version: `\(PostgreSQL\) (\S+)`}}}
	if p.Write {
		i.Asks.RoundTrips = seven
		i.Title, i.Short = "PostgreSQL TPC-B-like (pgbench)", "PostgreSQL TPC-B"
		i.About = "TPC-B-like transactions per second of PostgreSQL, by pgbench"
		i.Method = "A transaction has three UPDATEs, a SELECT and an INSERT, each a round trip, and a BEGIN and an END; connections wait for each other's rows. Data are in memory, so a commit waits for no disk. Connecting and filling the tables is not counted."
	}
	return i
}

func (p PGBench) Check() error {
	return cmp.Or(event.Within("pgbench: connections", or(p.Connections, pgConnections), 1, pgMostConnections, ""),
		event.Within("pgbench: scale", or(p.Scale, pgScale), 1, pgMostScale, ""))
}

func (p PGBench) Commands(w Window) (server, client []string) {
	// The client's address can be translated on the way.
	server = []string{"weir", "host", "private", "hba=host all all all trust\n",
		"--", "initdb", "-D", "data", "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync",
		"--", "postgres", "-D", "data", "-h", w.Server.Addr().String(), "-p", port(w),
		"-c", "hba_file=/tmp/hba", "-c", "unix_socket_directories=", "-c", "dynamic_shared_memory_type=mmap"}
	to := func(a netip.AddrPort) []string {
		return []string{"-h", a.Addr().String(), "-p", strconv.Itoa(int(a.Port())), "-U", "weir"}
	}
	client = append([]string{"weir", "host", "private", "--", "pgbench", "-i", "-q", "-s", strconv.Itoa(or(p.Scale, pgScale))}, to(w.call())...)
	client = append(client, "postgres", "--", "pgbench", "-n", "-c", strconv.Itoa(or(p.Connections, pgConnections)), "-j", "1", "-T", wholeSeconds(w.Duration))
	if !p.Write {
		client = append(client, "-S")
	}
	return server, append(append(client, to(w.call())...), "postgres")
}

var (
	pgCount  = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d{1,15})$`)
	pgFailed = regexp.MustCompile(`(?m)^number of failed transactions: (\d{1,15}) \(`)
	pgMean   = regexp.MustCompile(`(?m)^latency average = (\d+\.\d+) ms$`)
	pgRate   = regexp.MustCompile(`(?m)^tps = (\d+\.\d+) \(without initial connection time\)$`)
)

// Parse reads transactions (1/s), rtt.mean (s, of a whole transaction) and window.
func (p PGBench) Parse(out Output) (Measured, error) {
	b := out.Client
	count, failed, mean, rate := pgCount.FindSubmatch(b), pgFailed.FindSubmatch(b), pgMean.FindSubmatch(b), pgRate.FindSubmatch(b)
	if count == nil || mean == nil || rate == nil {
		return Measured{}, fmt.Errorf("pgbench: no whole result in %.200q", b)
	}
	failures := 0.0
	if failed != nil { // versions before 15 end at the first one
		failures = digits(failed[1])
	}
	if failures > 0 || digits(count[1]) == 0 {
		return Measured{}, fmt.Errorf("pgbench: %.0f of %s transactions failed", failures, count[1])
	}
	n, r, s := digits(count[1]), digits(rate[1]), digits(mean[1])/1e3
	return checked("pgbench", closedLoop(n, r, 0, 0, s), inFlight(r, s, or(p.Connections, pgConnections)))
}
