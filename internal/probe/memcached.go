package probe

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/facts"
)

// Memcached measures operations/s of memcached with memcaslap of libmemcached: nine GETs to each SET, which is its default,
// over connections with one operation in flight each. Each connection has one key, because all SETs overwrite.
//
// memcaslap binds its thread to CPU 0. It neither retries nor says so when connections break: Parse finds out by Little's law.
type Memcached struct {
	Size        int `yaml:"size"`        // bytes of the value, to 256 KiB; default 64
	Connections int `yaml:"connections"` // with one operation in flight each, to 100; default 16
}

const (
	memcachedConnections, memcachedMostConnections = 16, 100

	memcachedMostSize = 256 << 10 // a quarter of the largest item, unless the server is told otherwise
	memcachedMemory   = 128       // MiB; all keys together have 25 at most
	memcaslapKey      = 64        // bytes, its default
)

func (p Memcached) Info() Info {
	return Info{Asks: Asks{1, or(p.Connections, memcachedConnections), or(p.Size, defaultMessage)}, Title: "memcached (memcaslap)", Short: "memcached", Unit: "1/s", NoWarmup: true, StartsLate: true,
		About:  "operations per second of memcached, by memcaslap",
		Method: "One thread of memcached answers nine GETs to each SET, over connections with one operation in flight and one key each. One thread of memcaslap, which binds itself to CPU 0, asks: the busier of the two is a limit. Response times are a mean, in steps of 1 µs. It takes IPv4 addresses only.",
		Tools: []facts.ToolInfo{{Program: "memcached", Package: "memcached", VersionArgs: []string{"-V"}, Version: `memcached (\S+)`},
			// memcaslap says v1.0 in all versions.
			{Program: "memcaslap", Package: "libmemcached-tools", VersionArgs: []string{"-V"}, Version: `memc?aslap v(\S+)`}}}
}

func (p Memcached) Check() error {
	return cmp.Or(event.Within("memcached: size", or(p.Size, defaultMessage), 1, memcachedMostSize, "bytes"),
		event.Within("memcached: connections", or(p.Connections, memcachedConnections), 1, memcachedMostConnections, ""))
}

// Commands implements Probe. Without -S memcaslap states no response times; with an interval as long as the run, it
// prints them once, before the end.
func (p Memcached) Commands(w Window) (server, client []string) {
	seconds := wholeSeconds(w.Duration) + "s"
	server = []string{"weir", "host", "private", "--", "memcached", "-l", w.Server.Addr().String(), "-p", port(w), "-U", "0", "-t", "1", "-m", strconv.Itoa(memcachedMemory)}
	return server, []string{"memcaslap", "-s", w.call().String(), "-T", "1", "-c", strconv.Itoa(or(p.Connections, memcachedConnections)),
		"-X", strconv.Itoa(or(p.Size, defaultMessage)), "-o", "1.0", "-t", seconds, "-S", seconds}
}

var (
	memcaslapStats = func(of string) *regexp.Regexp {
		return regexp.MustCompile(`(?m)^` + of + ` Statistics \((\d{1,15}) events\)\n   Min: +\d+\n   Max: +\d+\n   Avg: +(\d{1,12})\n`)
	}
	memcaslapGets, memcaslapAll = memcaslapStats("Get"), memcaslapStats("Total")

	memcaslapMissed = regexp.MustCompile(`(?m)^get_misses: (\d{1,15})$`)
	memcaslapRead   = regexp.MustCompile(`(?m)^read_bytes: (\d{1,18})$`)
	memcaslapEnd    = regexp.MustCompile(`(?m)^Run time: \d+\.\ds Ops: (\d{1,15}) TPS: (\d{1,12}) `)
)

// Parse reads transactions (1/s), rtt.mean (s) and window. The last line's operations are those that were sent, and give the time more
// exactly than it is printed; the statistics count those that were answered.
func (p Memcached) Parse(out Output) (Measured, error) {
	m, err := p.memcaslap(out.Client)
	return checked("memcaslap", m, err)
}

func (p Memcached) memcaslap(b []byte) (Measured, error) {
	all, gets, missed, read, end := memcaslapAll.FindSubmatch(b), memcaslapGets.FindSubmatch(b), memcaslapMissed.FindSubmatch(b), memcaslapRead.FindSubmatch(b), memcaslapEnd.FindSubmatch(b)
	if all == nil || gets == nil || missed == nil || read == nil || end == nil || digits(end[2]) == 0 {
		return Measured{}, fmt.Errorf("no whole result in %.200q", b)
	}
	n, got, sent, most := digits(all[1]), digits(gets[1]), digits(end[1]), float64(or(p.Connections, memcachedConnections))
	rate, mean := n*digits(end[2])/sent, digits(all[2])/1e6
	switch lost := digits(missed[1]); {
	case lost > 0:
		return Measured{}, fmt.Errorf("%.0f of %.0f GETs found no value", lost, got)
	case got > n || n > sent || sent > n+most:
		return Measured{}, fmt.Errorf("%.0f operations were answered, %.0f of them GETs, of %.0f sent over %.0f connections", n, got, sent, most)
	case rate*mean < most/2: // its own time between operations is not in the mean
		return Measured{}, fmt.Errorf("%.0f operations/s of %g s are not those of %.0f connections: some broke", rate, mean, most)
	}
	// "VALUE key 0 size", the value and "END" with their ends of lines, and "STORED"; of those in flight at the end, parts can have come.
	size := float64(or(p.Size, defaultMessage))
	answer := float64(memcaslapKey+len("VALUE  0 \r\n\r\nEND\r\n")+len(fmt.Sprint(size))) + size
	if least := got*answer + (n-got)*float64(len("STORED\r\n")); digits(read[1]) < least || digits(read[1]) > least+most*answer {
		return Measured{}, fmt.Errorf("%s bytes came in %.0f answers to GETs, want values of %.0f bytes", read[1], got, size)
	}
	m := closedLoop(n, rate, 0, 0, mean)
	m.Moved, m.Reversed = got*size, true
	return m, inFlight(rate, mean, or(p.Connections, memcachedConnections))
}
