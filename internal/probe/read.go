package probe

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/record"
)

// A Statement is one result as a tool's output states it: weir did not run the tool, and does not know
// its command line.
type Statement struct {
	// Kind is the probe's name in the catalog, or a name of its own if weir never runs the tool like
	// this.
	Kind  string
	maybe string // the kind if only the user can tell
	Info  Info
	// Levels holds the options that the output states, by the names of the probe's options: size,
	// streams, reverse. Statements with other levels are other cells.
	Levels map[string]string
	Start  time.Time // zero if the output does not say
	Measured
	Notes []record.Note
}

// A reader reads the output of one tool.
type reader struct {
	tool   string
	prints *regexp.Regexp // a line that only this tool prints
	read   func([]byte) ([]Statement, error)
}

// readers lists the tools whose outputs are text.
func readers() []reader {
	return []reader{
		{"iperf3", iperf3TextRE, readIperf3Text},
		{"iperf", iperf2CSVLineRE, readIperf2CSV},
		{"iperf", iperf2HeadRE, readIperf2},
		{"sockperf", sockperfHeadRE, readSockperf},
		{"netperf", netperfHeadRE, readNetperf},
		{"nuttcp", nuttcpHeadRE, readNuttcp},
		{"qperf", qperfTestRE, readQperf},
		{"OSU micro-benchmarks", osuHeadRE, readOSU},
		{"NetPIPE", netpipeHeadRE, readNetPIPE},
		{"fping", fpingHeadRE, readFping},
		{"ping", pingHeadRE, readPing},
		{"wrk", wrkHeadRE, readWrk},
		{"h2load", h2loadHeadRE, readH2load},
		{"pgbench", pgHeadRE, readPGBench},
		{"dnsperf", dnsHeadRE, readDNSPerf},
		{"redis-benchmark", redisHeadRE, readRedis},
	}
}

// errOtherEnd is the error for an output that says less than that of the other end.
var errOtherEnd = errors.New("this is the server's output; import the client's, which has both ends")

// Read finds the tools that printed b and reads their results, at least one. b is text with lines that end in "\n":
// what a tool printed, or a log that holds it, with or without something in front of its lines, or JSON that holds
// either. kind, which can be "", names the probe where the output does not say what was measured; Read refuses the
// output of any other probe. A file with several outputs is read as a whole or refused.
func Read(b []byte, kind string) ([]Statement, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, errors.New("empty: the tool printed nothing, or was killed")
	}
	f, err := search(b)
	if err != nil {
		return nil, fmt.Errorf("iperf3: %w", err)
	}
	all, err := f.read(kind)
	switch {
	case err != nil:
		return nil, err
	case all != nil:
		return all, nil
	case f.strange:
		return nil, errors.New("JSON, but no JSON of iperf3, and none that holds the output of a known tool")
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return nil, fmt.Errorf("no output of a known tool: it begins with %.60q; weir reads %s", first, strings.Join(readable(), ", "))
}

// read reads what was found. The output of a server adds nothing to that of its client.
func (f *find) read(kind string) (all []Statement, _ error) {
	var otherEnd error
	add := func(tool string, some []Statement, err error) error {
		if err == nil && len(some) == 0 {
			err = errors.New("no result")
		}
		for i := range some {
			if err == nil {
				err = some[i].settle(kind)
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", tool, err)
		}
		if errors.Is(err, errOtherEnd) {
			otherEnd, err = err, nil
		} else {
			all = append(all, some...)
		}
		return err
	}
	for i, raw := range f.documents {
		r, err := readIperf3Doc(raw)
		if err != nil && len(f.documents) > 1 {
			err = fmt.Errorf("result %d of %d: %w", i+1, len(f.documents), err)
		}
		if err := add("iperf3", []Statement{r}, err); err != nil {
			return nil, err
		}
	}
	for _, text := range f.texts {
		for _, r := range readers() {
			if !r.prints.Match(text) {
				continue
			}
			some, err := r.read(text)
			if err := add(r.tool, some, err); err != nil {
				return nil, err
			}
		}
	}
	if all == nil {
		return nil, otherEnd
	}
	return all, nil
}

func readable() (names []string) {
	for _, r := range readers() {
		names = append(names, r.tool)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settle gives a statement without a kind the one that the user states, and checks the numbers.
func (r *Statement) settle(kind string) error {
	switch {
	case r.Kind == "" && kind == "":
		return fmt.Errorf("the output does not say what it measured; if it is %s, add --probe %s", r.maybe, r.maybe)
	case r.Kind == "":
		r.Kind = r.maybe
	}
	if kind != "" && kind != r.Kind {
		return fmt.Errorf("this is a result of %s, not of %s", r.Kind, kind)
	}
	if err := possible(r.Values); err != nil {
		return err
	}
	switch first := r.Values[0]; {
	case first.Value == 0:
		return fmt.Errorf("nothing was received: %s is 0", first.Name)
	case first.Unit != r.Info.Unit:
		return fmt.Errorf("%s is in %s, not %s", first.Name, first.Unit, r.Info.Unit)
	}
	return nil
}

// statement starts a statement of a probe.
func statement(kind string, p Probe, proto string) Statement {
	return Statement{Kind: kind, Info: p.Info(), Levels: map[string]string{}, Measured: Measured{Protocol: proto, Observed: record.Observed{}}}
}

func (r *Statement) add(name record.Quantity, unit string, v float64) {
	r.Values = append(r.Values, record.Value{Name: name, Unit: unit, Value: v})
}

// sections cuts b before every match of head, which begins a line, and drops what precedes the first.
func sections(b []byte, head *regexp.Regexp) (out [][]byte) {
	at := head.FindAllIndex(b, -1)
	for i, m := range at {
		end := len(b)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		out = append(out, b[m[0]:end])
	}
	return out
}

// each reads every section, and names the section of an error if there are several.
func each(parts [][]byte, read func([]byte) (Statement, error)) (out []Statement, _ error) {
	for i, part := range parts {
		r, err := read(part)
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("result %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// prefixed returns kilo to the power that a prefix means, as in "MBytes": 1 without one.
func prefixed(prefix string, kilo float64) float64 {
	return math.Pow(kilo, float64(max(0, strings.Index(" KMGT", strings.ToUpper(prefix)))))
}

// near reports whether two printed numbers can be the same one.
func near(a, b rounded) bool {
	const exact = 1e-9 // relative floating-point error
	return math.Abs(a.value-b.value) <= a.rounding+b.rounding+exact*math.Abs(a.value)
}

// over returns the rate of an amount in seconds.
func (r rounded) over(seconds rounded) rounded {
	if seconds.value <= seconds.rounding {
		return rounded{math.NaN(), 0}
	}
	v := r.value / seconds.value
	return rounded{v, v * (r.rounding/max(r.value, r.rounding, math.SmallestNonzeroFloat64) + seconds.rounding/seconds.value)}
}

// finer returns the number with more digits. Both print the same quantity; if they cannot, it is an error.
func finer(what string, a, b rounded) (float64, error) {
	switch {
	case !near(a, b):
		return 0, fmt.Errorf("the %s does not fit: %.6g by one number, %.6g by another", what, a.value, b.value)
	case a.rounding < b.rounding:
		return a.value, nil
	}
	return b.value, nil
}

// whole formats a number of bytes or streams as a level.
func whole(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
