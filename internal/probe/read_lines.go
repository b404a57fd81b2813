package probe

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A line of an output that a collector can have put something in front of: a time, a pod's name, the title of
// iperf3's -T, or the indent of a page. It may start anywhere in its line.
var anchorRE = regexp.MustCompile(`Connecting to host \S+, port \d|Reverse mode, remote host |\[ ID\](?:\[Role\])? +Interval |` +
	`\[ *\*?\d+\] local \S+ port \d+ connected |\[(?:SUM| *\*?\d+)\](?:\[[TR]X-[CS]\])? +\d+\.\d+- *\d+\.\d+ +sec |iperf3: error - |` +
	`(?:Client connecting to|Server listening on) .*(?:TCP|UDP) port \d|PING \S+ ?\(\S+\)|PING6\(|--- \S+ ping|` +
	`(?:MIGRATED )?(?:TCP|UDP|OMNI) \S+ TEST from |THROUGHPUT=|sockperf(?:: |\[CLIENT\])|nuttcp-[tr]: | *\d+\.\d+ MB / +\d+\.\d+ sec = |` +
	`\b(?:tcp|udp)_(?:bw|lat):$|# OSU | *\d+: +\d+ bytes +\d+ times -->|\S+ +: (?:\[\d+\], |xmt/rcv/%loss)|\s*"start":\s*\{\s*$`)

// timeRE matches what differs from line to line in a prefix: times of kubectl, docker, CI, journald, syslog, klog and
// ctime(3), and seconds since some start.
var timeRE = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?|` +
	`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2}(?: \d{4})?) \d\d:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?(?: [A-Z]{2,5})?(?: \d{4}\b)?|` +
	`\b[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+|\d{1,2}:\d\d:\d\d(?:[.,:]\d+)?|\[ *\d+\.\d+\]|\b\d{9,}(?:\.\d+)?\b`)

const (
	maxSources = 64  // prefixes that are told apart in one file
	maxPrefix  = 200 // bytes
)

// A source is what one prefix, apart from its times, stands in front of.
type source struct {
	prefix *regexp.Regexp
	bytes.Buffer
}

// unprefixed returns the texts in b without what is in front of their lines, one for each prefix: the logs of two
// pods are two outputs. A text whose lines have none is returned as it is. What a prefixed text has on lines
// without a prefix is the collector's.
func unprefixed(b []byte) [][]byte {
	if text := bytes.TrimSpace(b); len(text) > 0 && text[0] == '{' {
		return [][]byte{b} // JSON, whose lines need no search
	}
	var patterns, indents []string
	known := map[string]bool{}
	for line := range bytes.Lines(b) {
		at := anchorRE.FindIndex(bytes.TrimRight(line, "\n"))
		if at == nil || at[0] > maxPrefix || !utf8.Valid(line[:at[0]]) || bytes.IndexByte(line[:at[0]], '"') >= 0 { // a string of JSON
			continue
		}
		if at[0] == 0 && iperf3ErrRE.Match(line) {
			continue // iperf3 puts neither time nor title in front of it
		}
		if at[0] == 0 {
			return [][]byte{b}
		}
		p := prefixPattern(string(line[:at[0]]))
		if known[p] || len(known) == maxSources {
			continue
		}
		known[p] = true
		if len(bytes.TrimSpace(line[:at[0]])) == 0 {
			indents = append(indents, p)
		} else {
			patterns = append(patterns, p)
		}
	}
	if indents != nil { // a page can mix them in one output
		slices.SortFunc(indents, func(a, b string) int { return len(b) - len(a) })
		patterns = append(patterns, strings.Join(indents, "|"))
	}
	var sources []*source
	for _, p := range patterns {
		sources = append(sources, &source{prefix: regexp.MustCompile(p)})
	}
	if sources == nil {
		return [][]byte{b}
	}
	for line := range bytes.Lines(b) {
		var of *source
		longest := -1
		for _, s := range sources {
			if m := s.prefix.FindIndex(line); m != nil && m[1] > longest {
				of, longest = s, m[1]
			}
		}
		if of == nil && len(sources) == 1 && iperf3ErrRE.Match(line) {
			of, longest = sources[0], 0
		}
		if of != nil {
			of.Write(line[longest:])
			if !bytes.HasSuffix(line[longest:], []byte("\n")) && bytes.HasSuffix(line, []byte("\n")) {
				of.WriteByte('\n')
			}
		}
	}
	var texts [][]byte
	for _, s := range sources {
		texts = append(texts, s.Bytes())
	}
	return texts
}

// prefixPattern returns a pattern of the lines with this prefix at any time. Editors and logs cut blanks at the end
// of a line, so an empty line can end within the prefix.
func prefixPattern(prefix string) string {
	named := strings.TrimRight(prefix, " \t")
	blank := prefix[len(named):]
	p, rest := "^", 0
	for _, m := range timeRE.FindAllStringIndex(named, -1) {
		p += regexp.QuoteMeta(named[rest:m[0]]) + "(?:" + timeRE.String() + ")"
		rest = m[1]
	}
	return p + regexp.QuoteMeta(named[rest:]) + "(?:" + regexp.QuoteMeta(blank) + `|[ \t]*\n)`
}
