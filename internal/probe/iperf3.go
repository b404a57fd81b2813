package probe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/record"
)

// Iperf3 measures bulk TCP or UDP throughput with iperf3 (esnet/iperf) 3.2 or later; UDP needs
// 3.10, the first version that reports what arrived.
//
// The probe overrides iperf3's defaults: 1 Mbit/s for UDP, a datagram size that depends on the
// path's MTU, and the machine's congestion control.
//
// Parse takes errors from the output: with -J, iperf3 3.12 exits with status 0 even if it cannot
// connect.
type Iperf3 struct {
	UDP     bool    `yaml:"udp"`     // UDP instead of TCP
	Streams int     `yaml:"streams"` // in parallel, 1 to 128; 0 is 1
	Size    int     `yaml:"size"`    // bytes per write or datagram; 0 is 131072 for TCP, 1400 for UDP
	Rate    Bitrate `yaml:"rate"`    // bit/s of payload, all streams together; 0 is as fast as possible
	Reverse bool    `yaml:"reverse"` // the server sends and the client receives
	CC      string  `yaml:"cc"`      // congestion control of TCP; empty is cubic
	GSO     bool    `yaml:"gso"`     // UDP_SEGMENT and UDP_GRO at both ends; needs --gsro, as in iperf3 3.21
}

// iperf3Connect is the connection timeout in ms. The kernel's own is minutes.
const iperf3Connect = 5000

func (p Iperf3) Info() Info {
	i := streamBy("iperf3", p.UDP, [2]string{
		"waits in select before every read and after every ten writes; excludes the warm-up",
		"one write per datagram and a select for every ten; a select and a read per received datagram; a socket buffer of the kernel's default size; excludes the warm-up"})
	i.Tools = []facts.ToolInfo{{Program: "iperf3", Package: "iperf3", VersionArgs: []string{"--version"}, Version: `iperf (\S+)`}}
	i.ServerReports = true
	return i
}

func (p Iperf3) Check() error {
	if p.GSO && !p.UDP {
		return errors.New("iperf3: gso needs UDP: set udp, or use iperf3-udp")
	}
	size := bulkSize(p.UDP, p.Size)
	if !p.UDP && size > iperf3MaxTCP {
		return fmt.Errorf("iperf3: size: %d is more than %d bytes, its largest write", size, iperf3MaxTCP)
	}
	return cmp.Or(checkStream("iperf3", p.UDP, size, iperf3MinUDP, or(p.Streams, 1)), checkRate("iperf3", p.Rate, p.Streams), tcpOnly("iperf3", p.UDP, p.CC))
}

// Bounds of iperf3's writes and datagrams, bytes (MAX_BLOCKSIZE and MIN_UDP_BLOCKSIZE with 64-bit counters,
// iperf_api.h).
const (
	iperf3MaxTCP = 1 << 20
	iperf3MinUDP = 16
)

// Commands implements Probe. The server exits after one client, so no state outlives a trial;
// SIGTERM ends it earlier.
//
// iperf3 reads only whole seconds: -t 0.5 becomes 0, which means forever. Warm-up and duration are
// therefore rounded up to at least 1 s; no warm-up stays none. The value "window" is the actual
// duration.
func (p Iperf3) Commands(w Window) (server, client []string) {
	server = []string{"iperf3", "-s", "-1", "-B", w.Server.Addr().String(), "-p", port(w), "-J"}
	omitted := "0"
	if w.Warmup > 0 {
		omitted = wholeSeconds(w.Warmup)
	}
	client = []string{"iperf3", "-c", w.call().Addr().String(), "-p", callPort(w), "-J",
		"--connect-timeout", strconv.Itoa(iperf3Connect),
		"-t", wholeSeconds(w.Duration), "-O", omitted,
		"-P", strconv.Itoa(or(p.Streams, 1)), "-l", strconv.Itoa(bulkSize(p.UDP, p.Size)),
		"-b", perStream(p.Rate, p.Streams)}
	if p.UDP {
		client = append(client, "-u")
		if p.GSO {
			client = append(client, "--gsro")
		}
	} else {
		client = append(client, w.chooseCC("-C", p.CC)...)
	}
	if p.Reverse {
		client = append(client, "-R")
	}
	return server, client
}

// iperf3Doc holds the fields of iperf3's JSON that Parse reads. Pointers distinguish zero from
// missing numbers and null (which cJSON prints for NaN).
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
	Intervals []struct {
		Sum struct {
			Start   float64 `json:"start"` // s, see uncounted
			Bytes   float64 `json:"bytes"`
			Omitted bool    `json:"omitted"` // part of the warm-up
		} `json:"sum"`
	} `json:"intervals"`
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

// Parse reads, for TCP, throughput, retransmits (segments) and window; for UDP, received throughput
// and packet.rate, offered (with a rate), sent and delivered (packet/s), loss and reordered (0 to
// 1), jitter (RFC 3550, mean of the streams) and window.
//
// Packets are bytes divided by the datagram size, because iperf3's packet counts are unreliable:
// with a warm-up, the client of 3.12 includes the losses of the warm-up, and the other end's counts
// wrap below zero. Its end.sum is the sender's (esnet/iperf#584). Reordering needs the receiver's
// own output, because the receiver does not send that count to the other end.
func (p Iperf3) Parse(out Output) (Measured, error) {
	doc, err := decodeIperf3(out.Client)
	server := p.server(out.Server)
	if err == nil {
		err = p.check(doc, server, out.cc(p.CC))
	}
	if err != nil {
		return checked("iperf3", Measured{}, err)
	}
	m := Measured{Reversed: p.Reverse, Observed: record.Observed{}}
	record.Tool.Put(m.Observed, "iperf3 "+iperf3VersionRE.FindStringSubmatch(doc.Start.Version)[1])
	if p.UDP {
		m.Protocol, m.Datagram = "udp", int(doc.Start.Test.Size)
		m.Values = doc.udpValues(p.receiver(&doc, server))
	} else {
		m.Protocol = "tcp"
		record.Congestion.Put(m.Observed, doc.End.Congestion)
		if doc.Start.MSS != nil {
			record.MSS.Put(m.Observed, int(*doc.Start.MSS))
		}
		m.Values = []record.Value{
			{Name: record.Throughput, Unit: "bit/s", Value: doc.End.Received.rate()},
			{Name: record.Retransmits, Unit: "1", Value: *doc.End.Sent.Retransmits},
			{Name: record.Window, Unit: "s", Value: *doc.End.Received.Seconds},
		}
	}
	return checked("iperf3", m, nil)
}

// maxIperf3Values bounds the values of an output: 128 streams write two million in 10 minutes.
const maxIperf3Values = 3 << 20

func decodeIperf3(b []byte) (iperf3Doc, error) {
	var doc iperf3Doc
	if len(b) == 0 {
		return doc, errNoOutput
	}
	if err := bounds.Values(b, maxIperf3Values); err != nil {
		return doc, fmt.Errorf("output has %w", err)
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return doc, fmt.Errorf("output %.60q is not JSON, or cut off: %w", b, err)
	}
	if doc.Error != "" {
		return doc, errors.New(doc.Error)
	}
	return doc, nil
}

// check rejects output that is too old, incomplete, impossible or from another test. want is the
// congestion control, "" any.
func (p Iperf3) check(doc iperf3Doc, server *iperf3Doc, want string) error {
	if err := p.checkVersion(doc.Start.Version); err != nil {
		return err
	}
	asked, test := strings.ToUpper(protocol(p.UDP)), doc.Start.Test
	switch cc := doc.End.Congestion; {
	case test.Protocol != asked:
		return fmt.Errorf("measured %q, asked for %q", test.Protocol, asked)
	case !p.UDP && want != "" && cc != want:
		return fmt.Errorf("congestion control was %q, asked for %q", cc, want)
	case p.UDP && test.Size <= 0:
		return fmt.Errorf("datagrams of %v bytes", test.Size)
	}
	sent, received := doc.End.Sent, doc.End.Received
	if err := cmp.Or(sent.check("sum_sent"), received.check("sum_received")); err != nil {
		return err
	}
	switch {
	case !p.UDP && sent.Retransmits == nil:
		return errors.New("output has no end.sum_sent.retransmits")
	case p.UDP && received.Jitter == nil:
		return errors.New("output has no end.sum_received.jitter_ms")
	case *received.Bytes <= 0:
		return errors.New("nothing was received")
	}
	early := p.early(&doc, server)
	if *received.Bytes > *sent.Bytes+early+p.uncounted(&doc, server) {
		return fmt.Errorf("%.0f bytes were received and only %.0f sent; %.0f were in flight when the warm-up ended", *received.Bytes, *sent.Bytes, early)
	}
	return nil
}

// early returns the bytes sent but not received during the warm-up. Those that were not lost count
// only at the receiver; a slow path can hold a tenth of a second of traffic and more. Without the
// other end's output, early returns all bytes of the warm-up.
func (p Iperf3) early(client, server *iperf3Doc) float64 {
	switch {
	case server == nil:
		return client.omitted()
	case p.Reverse:
		return server.omitted() - client.omitted()
	}
	return client.omitted() - server.omitted()
}

func (d *iperf3Doc) omitted() (bytes float64) {
	for _, i := range d.Intervals {
		if i.Sum.Omitted {
			bytes += i.Sum.Bytes
		}
	}
	return bytes
}

// uncounted bounds the bytes that the sender counts neither in the warm-up nor in the measurement.
// One timer ends the warm-up and another starts the measurement; iperf3 forgets what it sends in
// between (iperf_print_intermediate, iperf_reset_stats; iperf_api.c, 3.12). The start of the first
// counted interval is that gap. Before 3.16, which has a thread per stream, iperf3 checks its
// timers only after ten writes per stream.
func (p Iperf3) uncounted(client, server *iperf3Doc) float64 {
	sender, test := client, client.Start.Test
	if p.Reverse && server != nil {
		sender = server
	}
	for _, i := range sender.Intervals {
		if test.Omit > 0 && !i.Sum.Omitted {
			return i.Sum.Start*client.End.Sent.rate()/8 + 10*test.Size*max(test.Streams, 1)
		}
	}
	return 0
}

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

func (s *iperf3Sum) rate() float64 { return *s.Bytes * 8 / *s.Seconds }

// udpValues takes the receiving end's output, or nil.
func (d iperf3Doc) udpValues(receiver *iperf3Doc) []record.Value {
	received, t := d.End.Received, d.Start.Test
	// Everything received was sent, some of it during the warm-up (see early). One duration for
	// both counts makes their difference the loss.
	sent := max(*d.End.Sent.Bytes, *received.Bytes)
	var more []record.Value
	if receiver != nil {
		reordered := 0.0
		for _, s := range receiver.End.Streams {
			reordered += s.UDP.OutOfOrder
		}
		more = append(more, record.Value{Name: record.Reordered, Unit: "1", Value: reordered / (*received.Bytes / t.Size)})
	}
	return transfer{sent: sent, received: *received.Bytes, seconds: *received.Seconds, size: t.Size, offered: t.TargetBitrate * t.Streams}.
		datagrams(append(more, record.Value{Name: record.Jitter, Unit: "s", Value: *received.Jitter / 1e3})...)
}

func (p Iperf3) server(b []byte) *iperf3Doc {
	doc, err := decodeIperf3(b)
	if err != nil || len(doc.End.Streams) == 0 {
		return nil
	}
	return &doc
}

func (p Iperf3) receiver(client, server *iperf3Doc) *iperf3Doc {
	if p.Reverse {
		return client
	}
	return server
}

var iperf3VersionRE = regexp.MustCompile(`^iperf ((\d{1,4})\.(\d{1,4})\S*)`)

// checkVersion rejects versions without --connect-timeout (before 3.2) or, for UDP, without
// end.sum_received (before 3.10).
func (p Iperf3) checkVersion(s string) error {
	least := 2
	if p.UDP {
		least = 10
	}
	m := iperf3VersionRE.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("unknown version %.40q", s)
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	switch {
	case major > 3 || major == 3 && minor >= least:
		return nil
	case p.UDP:
		return fmt.Errorf("version %s does not report what it received over UDP; install 3.%d or later, or measure UDP with weir's own engine", m[1], least)
	}
	return fmt.Errorf("version %s is too old; install 3.%d or later", m[1], least)
}
