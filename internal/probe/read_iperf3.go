package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/record"
)

// iperf3Stated holds what a client's JSON states beyond iperf3Doc.
type iperf3Stated struct {
	Start struct {
		System    string `json:"system_info"` // uname -a of the client, shortened
		Timestamp struct {
			Seconds int64 `json:"timesecs"`
		} `json:"timestamp"`
		Connecting *struct{} `json:"connecting_to"` // of a client only
		Test       struct {
			Reverse       float64 `json:"reverse"`
			Bidirectional float64 `json:"bidir"`
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Sum *struct { // of UDP: what the client knows of both ends
			iperf3Sum
			Lost    *float64 `json:"lost_packets"`
			Packets *float64 `json:"packets"`
		} `json:"sum"`
	} `json:"end"`
}

// An iperf3Event is a line of --json-stream (JSONStream_Output, iperf_api.c, 3.17).
type iperf3Event struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

var iperf3JSONRE = regexp.MustCompile(`^\s*\{`)

// readIperf3JSON reads one or several JSON documents of a client, or the events of one test.
func readIperf3JSON(b []byte) (out []Statement, _ error) {
	if err := bounds.Values(b, maxIperf3Values); err != nil {
		return nil, err
	}
	var events map[string]any // the document that they make
	for dec := json.NewDecoder(bytes.NewReader(b)); ; {
		var raw json.RawMessage
		var e iperf3Event
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) && events == nil {
			return out, nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("cut off: the event \"end\" is missing")
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON, or cut off: %w", err)
		}
		if json.Unmarshal(raw, &e) == nil && e.Event != "" {
			if events == nil {
				events = map[string]any{}
			}
			if e.Event == "interval" {
				list, _ := events["intervals"].([]any)
				events["intervals"] = append(list, e.Data)
			} else if e.Event != "server_output_text" && e.Event != "server_output_json" {
				events[e.Event] = e.Data
			}
			if e.Event != "end" && e.Event != "error" {
				continue
			}
			if raw, err = json.Marshal(events); err != nil {
				return nil, err
			}
			events = nil
		}
		r, err := readIperf3Doc(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
}

// readIperf3Doc reads what arrived. It accepts what Iperf3.Parse refuses because weir would not have
// asked for it: any congestion control, clients that cannot count retransmits, and older versions.
func readIperf3Doc(b []byte) (Statement, error) {
	var s iperf3Stated
	doc, err := decodeIperf3(b)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return Statement{}, err
	}
	version, test := iperf3VersionRE.FindStringSubmatch(doc.Start.Version), doc.Start.Test
	p := Iperf3{UDP: test.Protocol == "UDP", Reverse: s.Start.Test.Reverse != 0}
	switch {
	case doc.Start.Version == "":
		return Statement{}, errors.New("no JSON of iperf3: start.version is missing")
	case version == nil:
		return Statement{}, fmt.Errorf("unknown version %.40q", doc.Start.Version)
	case s.Start.Connecting == nil:
		return Statement{}, errors.New("this is the server's output; import the client's, which has both ends")
	case s.Start.Test.Bidirectional != 0:
		return Statement{}, errors.New("both directions at once (--bidir): no probe of weir measures that; run each direction by itself")
	case test.Protocol != "TCP" && test.Protocol != "UDP":
		return Statement{}, fmt.Errorf("measured %.40q, not TCP or UDP", test.Protocol)
	case p.UDP && test.Size <= 0:
		return Statement{}, fmt.Errorf("datagrams of %v bytes", test.Size)
	}
	var notes []record.Note
	if p.UDP && doc.End.Received == nil {
		if notes, err = s.arrived(&doc); err != nil {
			return Statement{}, err
		}
	}
	sent, received := doc.End.Sent, doc.End.Received
	if err := cmp.Or(sent.check("sum_sent"), received.check("sum_received")); err != nil {
		return Statement{}, err
	}
	// All of a warm-up that the receiver got late can count as received and not as sent: see early.
	if *received.Bytes > *sent.Bytes+p.early(&doc, nil)+p.uncounted(&doc, nil) {
		return Statement{}, fmt.Errorf("%.0f bytes were received and only %.0f sent", *received.Bytes, *sent.Bytes)
	}
	r := statement("iperf3-"+protocol(p.UDP), p, protocol(p.UDP))
	r.Notes = notes
	r.Levels["streams"] = whole(max(1, test.Streams))
	r.Levels["size"] = whole(test.Size)
	r.Levels["reverse"] = strconv.FormatBool(p.Reverse)
	record.Tool.Put(r.Observed, "iperf3 "+version[1])
	if doc.Start.MSS != nil {
		record.MSS.Put(r.Observed, int(*doc.Start.MSS))
	}
	if p.UDP {
		r.Levels["rate"] = rateLevel(test.TargetBitrate * max(1, test.Streams))
		// Without -l, the size is the MSS of the control connection (iperf_connect, iperf_client_api.c):
		// the network chose it, not the user. The output does not tell the two apart.
		delete(r.Levels, "size")
		if received.Jitter == nil {
			return r, errors.New("output has no end.sum_received.jitter_ms")
		}
		record.Datagram.Put(r.Observed, int(test.Size))
		r.Datagram, r.Values = int(test.Size), doc.udpValues(p.receiver(&doc, nil))
	} else {
		if doc.End.Congestion != "" {
			record.Congestion.Put(r.Observed, doc.End.Congestion)
		}
		r.add(record.Throughput, "bit/s", received.rate())
		if sent.Retransmits != nil { // Windows and macOS do not count them
			r.add(record.Retransmits, "1", *sent.Retransmits)
		}
		r.add(record.Window, "s", *received.Seconds)
	}
	if s.Start.Timestamp.Seconds > 0 {
		r.Start = time.Unix(s.Start.Timestamp.Seconds, 0).UTC()
	}
	// "Linux HOST 5.15.0-100-generic …"
	if f := strings.Fields(s.Start.System); len(f) >= 3 {
		r.Observed.Observe(record.SourceHost.Is(f[1]), record.Kernel.Is(f[0]+" "+f[2]))
	}
	return r, nil
}

// arrived fills in sum_sent and sum_received of a version before 3.10, which reports only the packets
// that the server missed. With a warm-up, that number is of another time than the packets sent.
func (s *iperf3Stated) arrived(doc *iperf3Doc) ([]record.Note, error) {
	sum, size := s.End.Sum, doc.Start.Test.Size
	switch {
	case sum == nil || sum.Lost == nil || sum.Packets == nil || sum.Seconds == nil || sum.Jitter == nil:
		return nil, errors.New("the output does not say what arrived: it has no end.sum_received, and no losses in end.sum")
	case doc.Start.Test.Omit > 0:
		return nil, fmt.Errorf("%s does not say what arrived after a warm-up (-O): it counts the warm-up's losses too; iperf3 3.10 does", doc.Start.Version)
	case *sum.Lost < 0 || *sum.Lost > *sum.Packets:
		return nil, fmt.Errorf("impossible: %.0f of %.0f packets were lost", *sum.Lost, *sum.Packets)
	}
	sent, got := *sum.Packets*size, (*sum.Packets-*sum.Lost)*size
	doc.End.Sent = &iperf3Sum{Seconds: sum.Seconds, Bytes: &sent}
	doc.End.Received = &iperf3Sum{Seconds: sum.Seconds, Bytes: &got, Jitter: sum.Jitter}
	return []record.Note{record.NoteIperf3Lost.With()}, nil
}

// rateLevel formats a rate in bit/s as a level.
func rateLevel(rate float64) string {
	if rate <= 0 {
		return "unlimited"
	}
	return strconv.FormatFloat(rate/1e6, 'g', -1, 64) + "mbit"
}

// Lines of iperf3's text. Bytes have binary prefixes and bits decimal ones (unit_snprintf, units.c).
//
//	[  5]   0.00-10.00  sec  1.10 GBytes   942 Mbits/sec                  receiver
//	[SUM]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.012 ms  0/906 (0%)  receiver
var (
	iperf3TextRE = regexp.MustCompile(`(?m)^(?:iperf 3\.\d|Connecting to host .*, port \d+|\[(?:SUM| *\d+)\] .* (?:sender|receiver) *$|iperf3: error - )`)
	iperf3RowRE  = regexp.MustCompile(`(?m)^\[(SUM| *\d+)\](?:\[[TR]X-[CS]\])? +(\d+\.\d+)- *(\d+\.\d+) +sec +(\d+(?:\.\d+)?) ([KMGT]?)Bytes +(\d+(?:\.\d+)?) ([KMGT]?)(bits|Bytes)/sec +(?:(\d+\.\d+) ms +)?(?:(\d+)(?:/(\d+) \([^)]*\))? +)?(sender|receiver) *$`)
	iperf3ErrRE  = regexp.MustCompile(`(?m)^iperf3: error - (.*)$`)
	iperf3VerRE  = regexp.MustCompile(`(?m)^iperf (3\.\d\S*)`)
	iperf3PeerRE = regexp.MustCompile(`(?m)^\[ *\d+\] local \S+ port \d+ connected to `)
)

// readIperf3Text reads the report of a client at the end of its text. It needs the receiver's line: the
// sender's rate is not what arrived.
func readIperf3Text(b []byte) ([]Statement, error) {
	if m := iperf3ErrRE.FindSubmatch(b); m != nil {
		return nil, errors.New(string(m[1]))
	}
	rows := map[string][][][]byte{} // by the end that reports
	for _, m := range iperf3RowRE.FindAllSubmatch(b, -1) {
		rows[string(m[12])] = append(rows[string(m[12])], m)
	}
	streams := max(1, len(iperf3PeerRE.FindAll(b, -1)))
	received, n := total(rows["receiver"])
	switch {
	case !bytes.Contains(b, []byte("\niperf Done.")):
		return nil, errors.New("cut off, interrupted, or the server's output: \"iperf Done.\" is missing")
	case received == nil:
		return nil, errors.New("no line of the receiver: the output does not say what arrived")
	case n != streams && streams > 1, string(received[1]) == "SUM" && n < 2:
		return nil, fmt.Errorf("the receiver reports %d of %d streams", n, streams)
	}
	f, err := numbers([][]byte{received[2], received[3], received[4], received[6]})
	if err != nil {
		return nil, err
	}
	seconds := rounded{f[1].value - f[0].value, f[0].rounding + f[1].rounding}
	bits := f[2].times(8 * prefixed(string(received[5]), 1024)).over(seconds)
	per := prefixed(string(received[7]), 1000)
	if string(received[8]) == "Bytes" { // -f K, M, G
		per = 8 * prefixed(string(received[7]), 1024)
	}
	rate, err := finer("throughput", bits, f[3].times(per))
	if err != nil {
		return nil, err
	}
	udp := len(received[9]) > 0
	r := statement("iperf3-"+protocol(udp), Iperf3{UDP: udp}, protocol(udp))
	r.Levels["streams"] = strconv.Itoa(streams)
	r.Levels["reverse"] = strconv.FormatBool(bytes.Contains(b, []byte("\nReverse mode, remote host ")))
	if v := iperf3VerRE.FindSubmatch(b); v != nil {
		record.Tool.Put(r.Observed, "iperf3 "+string(v[1]))
	}
	r.add(record.Throughput, "bit/s", rate)
	if udp {
		lost, all := digits(received[10]), digits(received[11])
		if !(all > 0) || lost > all {
			return nil, fmt.Errorf("impossible: %.0f of %.0f packets were lost", lost, all)
		}
		r.Values = append(r.Values, packets(lost, all, seconds.value)...)
		r.add(record.Jitter, "s", digits(received[9])/1e3)
	} else if s, _ := total(rows["sender"]); s != nil && len(s[10]) > 0 {
		r.add(record.Retransmits, "1", digits(s[10]))
	}
	r.add(record.Window, "s", seconds.value)
	return []Statement{r}, nil
}

// total returns the line of all streams, and how many streams have one.
func total(rows [][][]byte) (all [][]byte, streams int) {
	for _, m := range rows {
		if string(m[1]) == "SUM" {
			all = m
			continue
		}
		streams++
		if streams == 1 && all == nil {
			all = m
		}
	}
	if streams > 1 && string(all[1]) != "SUM" {
		return nil, streams
	}
	return all, streams
}

// packets returns the values of a stream of datagrams from how many were lost, of how many.
func packets(lost, all, seconds float64) []record.Value {
	delivered := (all - lost) / seconds
	return []record.Value{
		{Name: record.PacketRate, Unit: "packet/s", Value: delivered},
		{Name: record.Sent, Unit: "packet/s", Value: all / seconds},
		{Name: record.Delivered, Unit: "packet/s", Value: delivered},
		{Name: record.Loss, Unit: "1", Value: lost / all},
	}
}
