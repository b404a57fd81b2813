package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/weir-bench/weir/record"
)

// iperf3Doc is what Parse reads of iperf3's JSON. Pointers tell a number that is
// missing, or null (as cJSON prints NaN), from zero.
type iperf3Doc struct {
	Error string `json:"error"`
	Start struct {
		Version string   `json:"version"`
		MSS     *float64 `json:"tcp_mss_default"` // of the control connection, bytes
		Test    struct {
			Protocol      string  `json:"protocol"`
			Streams       float64 `json:"num_streams"`
			Size          float64 `json:"blksize"`        // bytes
			Omit          float64 `json:"omit"`           // s
			TargetBitrate float64 `json:"target_bitrate"` // bit/s per stream
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Sent     *iperf3Sum `json:"sum_sent"`
		Received *iperf3Sum `json:"sum_received"`
		Streams  []struct {
			UDP struct {
				OutOfOrder float64 `json:"out_of_order"`
			} `json:"udp"`
		} `json:"streams"`
		Congestion string `json:"sender_tcp_congestion"`
	} `json:"end"`
}

type iperf3Sum struct {
	Seconds     *float64 `json:"seconds"`
	Bytes       *float64 `json:"bytes"`
	Retransmits *float64 `json:"retransmits"`
	Jitter      *float64 `json:"jitter_ms"`
}

// Parse implements Probe. Throughput is what was received, never what was sent.
//
// TCP: throughput, retransmits (segments, a count), window. UDP: throughput and
// packet.rate received; offered (only with a rate), sent and delivered packets
// per second; loss and reordered as shares of 0..1; jitter (RFC 3550, mean of
// the streams); window.
//
// Packets are bytes divided by the size of a datagram. iperf3's own numbers of
// packets are not used: with a warm-up, the client of 3.12 counts the losses of
// the warm-up too, and the other end's numbers wrap below zero. Its end.sum is the
// sender's (esnet/iperf#584). Reordered is counted at the receiver and is not
// sent to the other end, so it is missing when the server's output is.
func (p Iperf3) Parse(out Output) (Measured, error) {
	doc, err := decodeIperf3(out.Client)
	if err == nil {
		err = p.check(doc)
	}
	if err != nil {
		return Measured{}, fmt.Errorf("iperf3: %w", err)
	}
	m := Measured{Found: map[string]string{"tool": "iperf3 " + iperf3Version(doc.Start.Version)}}
	if p.UDP {
		m.Protocol, m.Datagram = "udp", int(doc.Start.Test.Size)
		m.Values = doc.udpValues(p.receiver(doc, out.Server))
	} else {
		m.Protocol = "tcp"
		m.Found["congestion"] = doc.End.Congestion
		if doc.Start.MSS != nil {
			m.Found["mss"] = strconv.FormatFloat(*doc.Start.MSS, 'f', -1, 64)
		}
		m.Values = doc.tcpValues()
	}
	return checked("iperf3", m)
}

func decodeIperf3(b []byte) (iperf3Doc, error) {
	var doc iperf3Doc
	if len(b) == 0 {
		return doc, errors.New("no output: it was killed, or its command line refused")
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return doc, fmt.Errorf("output %.60q is no JSON, or not all of it: %w", b, err)
	}
	if doc.Error != "" {
		return doc, errors.New(doc.Error)
	}
	return doc, nil
}

// check refuses output that is too old, incomplete, of another test, or that
// cannot be.
func (p Iperf3) check(doc iperf3Doc) error {
	if err := p.checkVersion(doc.Start.Version); err != nil {
		return err
	}
	asked := "TCP"
	if p.UDP {
		asked = "UDP"
	}
	if got := doc.Start.Test.Protocol; got != asked {
		return fmt.Errorf("measured %q, asked for %q", got, asked)
	}
	if cc := doc.End.Congestion; !p.UDP && cc != p.cc() {
		return fmt.Errorf("congestion control was %q, asked for %q", cc, p.cc())
	}
	if p.UDP && doc.Start.Test.Size <= 0 {
		return fmt.Errorf("datagrams of %v bytes", doc.Start.Test.Size)
	}
	sent, received := doc.End.Sent, doc.End.Received
	if err := sent.check("sum_sent"); err != nil {
		return err
	}
	if err := received.check("sum_received"); err != nil {
		return err
	}
	if !p.UDP && sent.Retransmits == nil {
		return errors.New("output has no end.sum_sent.retransmits")
	}
	if p.UDP && received.Jitter == nil {
		return errors.New("output has no end.sum_received.jitter_ms")
	}
	if *received.Bytes <= 0 {
		return errors.New("nothing was received")
	}
	most := *sent.Bytes
	if doc.Start.Test.Omit > 0 {
		most *= 1 + omitSlack
	}
	if *received.Bytes > most {
		return fmt.Errorf("%.0f bytes were received and only %.0f sent", *received.Bytes, *sent.Bytes)
	}
	return nil
}

// omitSlack is the share by which received bytes may exceed sent bytes when a
// warm-up was omitted: what was in flight when the warm-up ended counts at the
// receiver only. It is below 1 % on loopback; queues of a slow link hold more.
const omitSlack = 0.1

func (s *iperf3Sum) check(name string) error {
	switch {
	case s == nil:
		return fmt.Errorf("output has no end.%s", name)
	case s.Seconds == nil || s.Bytes == nil:
		return fmt.Errorf("end.%s has no seconds or no bytes", name)
	case *s.Seconds <= 0:
		return fmt.Errorf("end.%s lasted %v s", name, *s.Seconds)
	case *s.Bytes < 0:
		return fmt.Errorf("end.%s has %v bytes", name, *s.Bytes)
	}
	return nil
}

// rate is bit/s, from bytes and seconds.
func (s *iperf3Sum) rate() float64 { return *s.Bytes * 8 / *s.Seconds }

func (d iperf3Doc) tcpValues() []record.Value {
	return []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: d.End.Received.rate()},
		{Name: "retransmits", Unit: "1", Value: *d.End.Sent.Retransmits},
		{Name: "window", Unit: "s", Value: *d.End.Received.Seconds},
	}
}

// udpValues takes the output of the receiving end, or nil when there is none.
func (d iperf3Doc) udpValues(receiver *iperf3Doc) []record.Value {
	sent, received, t := d.End.Sent, d.End.Received, d.Start.Test
	delivered := received.rate() / 8 / t.Size
	vs := []record.Value{
		{Name: "throughput", Unit: "bit/s", Value: received.rate()},
		{Name: "packet.rate", Unit: "packet/s", Value: delivered},
	}
	if t.TargetBitrate > 0 {
		vs = append(vs, record.Value{Name: "offered", Unit: "packet/s", Value: t.TargetBitrate * t.Streams / 8 / t.Size})
	}
	vs = append(vs,
		record.Value{Name: "sent", Unit: "packet/s", Value: sent.rate() / 8 / t.Size},
		record.Value{Name: "delivered", Unit: "packet/s", Value: delivered},
		// Not below zero: see omitSlack.
		record.Value{Name: "loss", Unit: "1", Value: max(0, 1 - *received.Bytes / *sent.Bytes)})
	if receiver != nil {
		reordered := 0.0
		for _, s := range receiver.End.Streams {
			reordered += s.UDP.OutOfOrder
		}
		vs = append(vs, record.Value{Name: "reordered", Unit: "1", Value: reordered / (*received.Bytes / t.Size)})
	}
	return append(vs,
		record.Value{Name: "jitter", Unit: "s", Value: *received.Jitter / 1e3},
		record.Value{Name: "window", Unit: "s", Value: *received.Seconds})
}

// receiver returns the output of the end that received datagrams.
func (p Iperf3) receiver(client iperf3Doc, server []byte) *iperf3Doc {
	if p.Reverse {
		return &client
	}
	doc, err := decodeIperf3(server)
	if err != nil || len(doc.End.Streams) == 0 {
		return nil
	}
	return &doc
}

var iperf3VersionRE = regexp.MustCompile(`^iperf ((\d{1,4})\.(\d{1,4})\S*)`)

// iperf3Version is "3.12" for "iperf 3.12", and "" for anything else.
func iperf3Version(s string) string {
	if m := iperf3VersionRE.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

// checkVersion refuses what lacks --connect-timeout (before 3.2) and, for UDP,
// end.sum_received (before 3.10).
func (p Iperf3) checkVersion(s string) error {
	least := 2
	if p.UDP {
		least = 10
	}
	m := iperf3VersionRE.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("version %.40q is not known", s)
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	switch {
	case major > 3 || major == 3 && minor >= least:
		return nil
	case p.UDP:
		return fmt.Errorf("version %s does not report what was received over UDP: install 3.%d or later, or measure UDP with weir's own engine", m[1], least)
	}
	return fmt.Errorf("version %s is too old: install 3.%d or later", m[1], least)
}
