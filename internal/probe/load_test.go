package probe

import (
	"reflect"
	"testing"

	"github.com/weir-bench/weir/record"
)

func TestPace(t *testing.T) {
	for _, c := range []struct {
		p, want Probe
		rate    float64
		unit    string
	}{
		{&TCPStream{Streams: 2}, &TCPStream{Streams: 2, Rate: 1e9}, 1e9, "bit/s"},
		{&UDPStream{Size: 100}, &UDPStream{Size: 100, Rate: 1e9}, 1e9, "bit/s"},
		{&UDPRate{}, &UDPRate{Rate: 1000 * 8 * smallDatagram}, 1000, "packet/s"},
		{&UDPRate{Size: 100}, &UDPRate{Size: 100, Rate: 1000 * 8 * 100}, 1000, "packet/s"},
	} {
		was := reflect.ValueOf(c.p).Elem().Interface()
		got, err := Pace(c.p, c.rate)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
		if now := reflect.ValueOf(c.p).Elem().Interface(); now != was {
			t.Errorf("%+v has become %+v", was, now)
		}
		if unit := DeliveryUnit(c.p); unit != c.unit {
			t.Errorf("%T is counted in %q, want %q", c.p, unit, c.unit)
		}
	}
	for _, p := range []Probe{&TCPRR{}, &UDPRR{}, &UDPOpen{}, &TCPCRR{}, &Ping{}, &Iperf3{}} {
		if got, err := Pace(p, 1e9); err == nil {
			t.Errorf("%T was paced: %+v", p, got)
		}
	}
	for _, p := range []Probe{&Ping{}, &Iperf3{}} {
		if unit := DeliveryUnit(p); unit != "" {
			t.Errorf("%T is counted in %q", p, unit)
		}
	}
	if _, err := Pace(&TCPStream{}, 1000); err == nil {
		t.Error("TCP was paced below what it can be")
	}
}

// What a probe measured is what a server of the same one counts.
func TestDelivered(t *testing.T) {
	m := Measured{Values: []record.Value{{Name: "rtt", Unit: "s", Value: 1}, {Name: "throughput", Unit: "bit/s", Value: 2},
		{Name: "packet.rate", Unit: "packet/s", Value: 3}, {Name: "offered", Unit: "packet/s", Value: 4}, {Name: "transactions", Unit: "1/s", Value: 5}, {Name: "loss", Unit: ""}}}
	for want, p := range map[float64]Probe{2: &UDPStream{}, 3: &UDPRate{}, 5: &UDPRR{}, 0: &Ping{}} {
		if got := Delivered(p, m); got != want {
			t.Errorf("%T: %g, want %g", p, got, want)
		}
	}
}
