package probe

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestPace(t *testing.T) {
	for _, c := range []struct {
		p    Probe
		want Probe
		rate float64
		unit string
	}{
		{&TCPStream{Streams: 2}, &TCPStream{Streams: 2, Rate: 1e9}, 1e9, "bit/s"},
		{&UDPStream{Size: 100}, &UDPStream{Size: 100, Rate: 1e9, polls: true}, 1e9, "bit/s"},
		{&UDPRate{}, &UDPRate{Rate: 1000 * 8 * smallDatagram, polls: true}, 1000, "packet/s"},
		{&UDPRate{Size: 100}, &UDPRate{Size: 100, Rate: 1000 * 8 * 100, polls: true}, 1000, "packet/s"},
	} {
		was := reflect.ValueOf(c.p).Elem().Interface()
		got, err := Pace(c.p, c.rate)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
		if now := reflect.ValueOf(c.p).Elem().Interface(); now != was {
			t.Errorf("%+v has become %+v", was, now)
		}
		if unit := c.p.Info().DeliveryUnit; unit != c.unit {
			t.Errorf("%T is counted in %q, want %q", c.p, unit, c.unit)
		}
	}
	paced, err := (UDPRate{}).Pace(1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, client := paced.Commands(Window{}); !slices.Contains(client, "50µs") {
		t.Errorf("%q: its receiver does not poll for datagrams", client)
	}
	for _, p := range []Probe{&TCPRR{}, &UDPRR{}, &UDPOpen{}, &TCPCRR{}, &Ping{}, &Iperf3{}} {
		if got, err := Pace(p, 1e9); err == nil {
			t.Errorf("%T was paced: %+v", p, got)
		}
	}
	for _, p := range []Probe{&Ping{}, &Iperf3{}, &UDPCapacity{}} {
		if unit := p.Info().DeliveryUnit; unit != "" {
			t.Errorf("%T is counted in %q", p, unit)
		}
	}
	for _, c := range []struct {
		p    Probe
		want Probe
		kind string
	}{
		{&TCPStream{Streams: 2, Rate: 1e9}, &TCPStream{Streams: 2}, "flat out"},
		{&UDPStream{Rate: 1e9}, &UDPCapacity{Size: 1400, Send: "single", Batch: 1, Recv: "mmsg"}, "PDR 0.5%"},
		{&UDPRate{Send: "gso", Size: 100}, &UDPCapacity{Size: 100, Send: "gso", Batch: 64, Recv: "gro"}, "PDR 0.5%"},
	} {
		if got, kind, err := Capacity(c.p); err != nil || kind != c.kind || !reflect.DeepEqual(got, c.want) {
			t.Errorf("capacity for %+v: %+v, %q, %v; want %+v, %q", c.p, got, kind, err, c.want, c.kind)
		}
	}
	if _, _, err := (UDPStream{Packets: 2}).Capacity(); err == nil {
		t.Error("datagrams of unknown size have a capacity")
	}
	for _, p := range []Probe{&UDPStream{Streams: 2}, &UDPRate{Streams: 2}} {
		if _, _, err := Capacity(p); err == nil || !strings.Contains(err.Error(), "the search for what the path carries has one stream") {
			t.Errorf("capacity for two streams: %v", err)
		}
	}
	if _, _, err := Capacity(&UDPRR{}); err == nil {
		t.Error("requests have a capacity")
	}
	if kind := (UDPCapacity{MaxLoss: "0"}).Kind(); kind != "NDR" {
		t.Errorf("without loss it is the %s", kind)
	}
	if _, err := (TCPStream{}).Pace(1000); err == nil {
		t.Error("TCP was paced below its minimum")
	}
}

func TestDelivered(t *testing.T) {
	m := Measured{Values: []record.Value{{Name: "rtt", Unit: "s", Value: 1}, {Name: "throughput", Unit: "bit/s", Value: 2},
		{Name: "packet.rate", Unit: "packet/s", Value: 3}, {Name: "offered", Unit: "packet/s", Value: 4}, {Name: "transactions", Unit: "1/s", Value: 5}, {Name: "loss", Unit: ""}}}
	for want, p := range map[float64]Probe{2: &UDPStream{}, 3: &UDPRate{}, 5: &UDPRR{}, 0: &Ping{}} {
		if got := Delivered(p, m); got != want {
			t.Errorf("%T: %g, want %g", p, got, want)
		}
	}
}
