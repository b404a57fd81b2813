package probe

import "errors"

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

// Pace returns p at a rate in its DeliveryUnit; 0 is flat out. Requests cannot be paced: what a
// closed loop sends is what was answered.
func Pace(p Probe, rate float64) (Probe, error) {
	switch p := p.(type) {
	case *TCPStream:
		paced := *p
		paced.Rate = Bitrate(rate)
		return &paced, paced.Check()
	case *UDPStream:
		paced := *p
		paced.Rate = Bitrate(rate)
		return &paced, nil
	case *UDPRate:
		paced := *p
		paced.Rate = Bitrate(rate * 8 * float64(paced.path().size))
		return &paced, nil
	}
	return nil, errors.New("it cannot be held to a rate: only tcp-stream, udp-stream and udp-rate can")
}
