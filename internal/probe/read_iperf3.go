package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/record"
)

// iperf3Stated holds what a client's JSON states beyond iperf3Doc.
type iperf3Stated struct {
	Start struct {
		System    string `json:"system_info"` // uname -a of the client, shortened
		Timestamp struct {
			Seconds int64 `json:"timesecs"`
		} `json:"timestamp"`
		Connecting *struct{}         `json:"connecting_to"` // of a client only
		Accepted   *struct{}         `json:"accepted_connection"`
		Connected  []json.RawMessage `json:"connected"` // sockets
		Test       struct {
			Reverse       float64 `json:"reverse"`
			Bidirectional float64 `json:"bidir"`
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Streams []struct {
			Sender struct {
				Sends *bool `json:"sender"` // of the client, since 3.7
			} `json:"sender"`
		} `json:"streams"`
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

// errBidirectional is the error for tests in both directions at once. Neither direction's number is that of a test in
// one direction: the two share the path.
func errBidirectional(option string) error {
	return fmt.Errorf("both directions at once (%s): no probe of weir measures that; run each direction by itself", option)
}

// readIperf3Doc reads what arrived. It accepts what Iperf3.Parse refuses because weir would not have
// asked for it: any congestion control, clients that cannot count retransmits, and older versions.
func readIperf3Doc(b []byte) (Statement, error) {
	var s iperf3Stated
	var doc iperf3Doc
	if err := errors.Join(json.Unmarshal(b, &doc), json.Unmarshal(b, &s)); err != nil {
		return Statement{}, fmt.Errorf("JSON of another form than iperf3's: %w", err)
	}
	version, test := iperf3VersionRE.FindStringSubmatch(doc.Start.Version), doc.Start.Test
	p := Iperf3{UDP: test.Protocol == "UDP", Reverse: s.Start.Test.Reverse != 0}
	if err := s.began(&doc, b); err != nil {
		return Statement{}, err
	}
	switch {
	case version == nil:
		return Statement{}, fmt.Errorf("unknown version %.40q", doc.Start.Version)
	case test.Protocol != "TCP" && test.Protocol != "UDP":
		return Statement{}, fmt.Errorf("measured %.40q, not TCP or UDP", test.Protocol)
	case p.UDP && test.Size <= 0:
		return Statement{}, fmt.Errorf("datagrams of %v bytes", test.Size)
	}
	var notes []record.Note
	if p.UDP && doc.End.Received == nil {
		var err error
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
	if *received.Bytes == 0 {
		return Statement{}, fmt.Errorf("nothing was received: the receiver's count is 0 of %.0f bytes, %.3g s after the start", *sent.Bytes, *received.Seconds)
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

// began returns why a document is not of a client's whole test in one direction.
func (s *iperf3Stated) began(doc *iperf3Doc, b []byte) error {
	test := doc.Start.Test
	switch {
	case doc.Error != "" && len(doc.Intervals) == 0:
		return fmt.Errorf("the test never began: %s", doc.Error)
	case doc.Error != "":
		return fmt.Errorf("the test broke off: %s", doc.Error)
	case doc.Start.Version == "":
		return errors.New("no JSON of iperf3: start.version is missing")
	case s.Start.Accepted != nil && s.Start.Connecting == nil:
		return errOtherEnd
	case s.Start.Connecting == nil && len(s.Start.Connected) > 0:
		return errOtherEnd
	case s.Start.Connecting == nil, test.Protocol == "" && len(doc.Intervals) == 0:
		return errors.New("the test never began: the output has no connection and no parameters of a test")
	}
	return s.twoWay(test.Streams, b)
}

// twoWay returns an error if any mark says that data went in both directions. test_start.bidir is stated only since
// 3.13; before, keys occur twice, and a decoder sees only the last.
func (s *iperf3Stated) twoWay(streams float64, b []byte) error {
	err := errBidirectional("--bidir")
	if s.Start.Test.Bidirectional != 0 || bytes.Contains(b, []byte(`_bidir_reverse"`)) || float64(len(s.Start.Connected)) > max(1, streams) {
		return err
	}
	sends := map[bool]bool{}
	for _, x := range s.End.Streams {
		if x.Sender.Sends != nil {
			sends[*x.Sender.Sends] = true
		}
	}
	if len(sends) > 1 {
		return err
	}
	var parts struct{ End json.RawMessage }
	if json.Unmarshal(b, &parts) != nil {
		return nil // said before
	}
	for _, part := range []json.RawMessage{b, parts.End} {
		if key := repeated(part); key != "" {
			return fmt.Errorf("%q occurs twice in one object: two tests, or both directions of one (--bidir)", key)
		}
	}
	return nil
}

// repeated returns a key that occurs twice in an object, "" if none does.
func repeated(object json.RawMessage) string {
	seen := map[string]bool{}
	dec := json.NewDecoder(bytes.NewReader(object))
	for _, _ = dec.Token(); dec.More(); {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return ""
		}
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

// arrived fills in sum_sent and sum_received of a version before 3.10, which reports only the packets
// that the server missed. With a warm-up, that number covers another time than the packets sent.
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

// packets returns the values of a stream of datagrams, given how many were lost and how many there were.
func packets(lost, all, seconds float64) []record.Value {
	delivered := (all - lost) / seconds
	return []record.Value{
		{Name: record.PacketRate, Unit: "packet/s", Value: delivered},
		{Name: record.Sent, Unit: "packet/s", Value: all / seconds},
		{Name: record.Delivered, Unit: "packet/s", Value: delivered},
		{Name: record.Loss, Unit: "1", Value: lost / all},
	}
}
