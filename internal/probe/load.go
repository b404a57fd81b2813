package probe

import (
	"errors"

	"github.com/weir-bench/weir/internal/engine/event"
)

// DeliveryUnit is what the work of p is counted in by its server while it goes on:
// bit/s of payload, packet/s, or 1/s for requests that were answered. It is empty for
// a probe that has no server of this program's, and cannot run beside another one.
func DeliveryUnit(p Probe) string {
	switch p.(type) {
	case *TCPStream, *UDPStream:
		return "bit/s"
	case *UDPRate:
		return "packet/s"
	case *TCPRR, *UDPRR, *UDPOpen, *TCPCRR:
		return "1/s"
	}
	return ""
}

// Delivered returns what p measured in its DeliveryUnit; 0 when it has none.
func Delivered(p Probe, m Measured) float64 {
	unit := DeliveryUnit(p)
	for _, v := range m.Values {
		if v.Unit == unit && unit != "" {
			return v.Value
		}
	}
	return 0
}

// Capacity returns what finds out how much a path carries of p, and how that is
// called. Of datagrams that is the highest rate at which hardly any is lost: what
// arrives of more may be more than that, and less. TCP finds its rate by itself, so
// it is what arrives of p flat out.
func Capacity(p Probe) (by Probe, kind string, err error) {
	var path event.Mode
	switch p := p.(type) {
	case *UDPStream:
		if p.Packets > 0 {
			return nil, "", errors.New("packets: a share of what the path carries needs datagrams of one size on all paths: give size")
		}
		path = p.path(Window{})
	case *UDPRate:
		path = p.path()
	default:
		by, err = Pace(p, 0) // it may have a rate of its own
		return by, "flat out", err
	}
	c := &UDPCapacity{Size: path.Size, Send: path.Send, Batch: path.Batch, Recv: path.Recv}
	return c, c.Kind(), nil
}

// Pace returns p at a rate in its DeliveryUnit; 0 is flat out. Requests cannot be paced: what a
// closed loop sends is what was answered. Nobody asks for the jitter of what is paced
// here, so its receiver looks for datagrams as it does flat out.
func Pace(p Probe, rate float64) (Probe, error) {
	switch p := p.(type) {
	case *TCPStream:
		paced := *p
		paced.Rate = Bitrate(rate)
		return &paced, paced.Check()
	case *UDPStream:
		paced := *p
		paced.Rate, paced.looks = Bitrate(rate), true
		return &paced, nil
	case *UDPRate:
		paced := *p
		paced.Rate, paced.looks = Bitrate(rate*8*float64(paced.path().Size)), true
		return &paced, nil
	}
	return nil, errors.New("it cannot be held to a rate: only tcp-stream, udp-stream and udp-rate can")
}
