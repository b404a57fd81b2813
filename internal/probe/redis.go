package probe

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
)

// Redis measures requests/s of redis-server with redis-benchmark: one client thread with many
// connections, each with one request in flight, all for one key. The server keeps its data in memory and saves nothing.
//
// redis-benchmark takes a number of requests and no time, so each network gets the same work. It
// ends at the first answer that is an error.
type Redis struct {
	Set         bool `yaml:"set"`         // SET instead of GET
	Size        int  `yaml:"size"`        // bytes of the value; default 64
	Connections int  `yaml:"connections"` // with one request in flight each; default 50
	Requests    int  `yaml:"requests"`    // over all connections; default 50000
}

const (
	redisConnections = 50 // the tool's own default
	redisRequests    = 50_000

	redisMostSize        = 64 << 20
	redisMostConnections = 1000
	redisMostRequests    = 100_000_000
	redisTakes           = 2 * time.Second
	redisAtMost          = time.Minute
)

func (p Redis) command() string {
	if p.Set {
		return "SET"
	}
	return "GET"
}

func (p Redis) Info() Info {
	tool := func(program, pkg string) facts.ToolInfo {
		return facts.ToolInfo{Program: program, Package: pkg, VersionArgs: []string{"--version"}, Version: `(?:v=|benchmark )(\S+)`}
	}
	command := p.command()
	i := Info{
		Asks:  Asks{1, or(p.Connections, redisConnections), or(p.Size, defaultMessage)},
		Title: "Redis " + command, Short: "Redis " + command, Unit: "1/s",
		About:    command + " requests per second of Redis, by redis-benchmark",
		Method:   "A fixed number of requests for one key, over connections with one request in flight each. One thread serves them, another sends them: the busier of the two is a limit. Response times come in steps of 8 µs.",
		Tools:    []facts.ToolInfo{tool("redis-server", "redis-server"), tool("redis-benchmark", "redis-tools")},
		NoWarmup: true, StartsLate: true, Takes: redisTakes, AtMost: redisAtMost,
	}
	if !p.Set {
		i.Method += " As many SETs run before and are not counted."
	}
	return i
}

func (p Redis) Check() error {
	return cmp.Or(event.Within("redis: size", or(p.Size, defaultMessage), 1, redisMostSize, "bytes"),
		event.Within("redis: connections", or(p.Connections, redisConnections), 1, redisMostConnections, ""),
		event.Within("redis: requests", or(p.Requests, redisRequests), or(p.Connections, redisConnections), redisMostRequests, ""))
}

// Commands implements Probe. A GET of a key that nobody has set would have an empty answer.
func (p Redis) Commands(w Window) (server, client []string) {
	tests := "set"
	if !p.Set {
		tests = "set,get"
	}
	server = []string{"redis-server", "--bind", w.Server.Addr().String(), "--port", port(w), "--protected-mode", "no", "--save", "", "--appendonly", "no"}
	return server, []string{"redis-benchmark", "-h", w.call().Addr().String(), "-p", callPort(w), "-t", tests,
		"-n", strconv.Itoa(or(p.Requests, redisRequests)), "-c", strconv.Itoa(or(p.Connections, redisConnections)), "-d", strconv.Itoa(or(p.Size, defaultMessage)), "--csv"}
}

// redisColumns are the columns of redis-benchmark 6.2 and later.
var redisColumns = []string{"test", "rps", "avg_latency_ms", "min_latency_ms", "p50_latency_ms", "p95_latency_ms", "p99_latency_ms", "max_latency_ms"}

// Parse reads transactions (1/s), rtt (s, median), rtt.p99 (s, if at least ten response times lie
// above it), rtt.mean (s) and window.
func (p Redis) Parse(out Output) (Measured, error) {
	f, err := p.row(out.Client)
	if err != nil {
		return Measured{}, fmt.Errorf("redis-benchmark: %w", err)
	}
	rate, n := f.number("rps"), float64(or(p.Requests, redisRequests))
	ms := func(column string) float64 { return f.number(column+"_latency_ms") / 1e3 }
	m := closedLoop(n, rate, ms("p50"), ms("p99"), ms("avg"))
	m.Moved = n * float64(or(p.Size, defaultMessage))
	return checked("redis-benchmark", m, cmp.Or(f.err, inFlight(rate, ms("avg"), or(p.Connections, redisConnections))))
}

// row returns the last row, by column.
func (p Redis) row(b []byte) (*fields, error) {
	tests := []string{"SET", "GET"}
	if p.Set {
		tests = tests[:1]
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	switch {
	case len(bytes.TrimSpace(b)) == 0:
		return nil, errNoOutput
	case err != nil:
		return nil, err
	case len(rows) != 1+len(tests) || !bytes.HasSuffix(b, []byte("\n")):
		return nil, fmt.Errorf("%d rows for %d tests: it was interrupted", len(rows)-1, len(tests))
	}
	f := &fields{text: map[string]string{}}
	for i, column := range redisColumns {
		if i >= len(rows[0]) || rows[0][i] != column {
			return nil, fmt.Errorf("columns %q, want %q: this is another version", rows[0], redisColumns)
		}
		f.text[column] = rows[len(tests)][i]
	}
	if got := f.text["test"]; got != p.command() {
		return nil, fmt.Errorf("it measured %q, asked for %q", got, p.command())
	}
	return f, nil
}
