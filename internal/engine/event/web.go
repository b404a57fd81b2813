package event

import "fmt"

// Web is the result of the workloads that speak HTTP, TLS, QUIC or DNS. Without a rate, requests follow answers. With a rate,
// they leave on a schedule as those of Open do, and response times count from the scheduled time; a request that waits
// for an earlier answer on its connection or stream leaves late.
type Web struct {
	RR
	Rate          float64 `json:"rate"`                    // requests/s asked for; 0: none
	Offered       int64   `json:"offered"`                 // requests that the schedule held; 0 without one
	LateSends     int64   `json:"lateSends"`               // of these: left more than 1/rate late, or never
	Stalls        int64   `json:"stalls"`                  // periods in which response times were above 50 ms
	Bytes         int64   `json:"bytes,omitempty"`         // of the bodies of all answers, with Sizes
	Sizes         string  `json:"sizes,omitempty"`         // distribution of the bodies' sizes asked for; "": all have Size
	Packet        int     `json:"packet,omitempty"`        // QUIC: bytes of the largest datagram
	Renewed       int64   `json:"renewed"`                 // exchanges that made a connection anew, since the other end had ended it
	Resumed       int64   `json:"resumed"`                 // connections that resumed a TLS session
	ConnectHist   string  `json:"connectHist,omitempty"`   // time to make the TCP connection, of new connections
	HandshakeHist string  `json:"handshakeHist,omitempty"` // time of the TLS handshake after that
}

// Check returns an error if a result is impossible. opens says that each exchange makes a connection.
func (w *Web) Check(opens, resumes bool) error {
	switch {
	case w.Rate > 0 && (w.Offered < w.Requests || w.LateSends < w.Offered-w.Requests || w.LateSends > w.Offered):
		return fmt.Errorf("%d requests sent of %d, %d late", w.Requests, w.Offered, w.LateSends)
	case w.Rate == 0 && w.Offered+w.LateSends > 0:
		return fmt.Errorf("%d requests and %d late ones of a schedule, and there was none", w.Offered, w.LateSends)
	case w.Stalls > w.Transactions || w.Renewed > w.Requests:
		return fmt.Errorf("%d stalls and %d new connections in %d requests", w.Stalls, w.Renewed, w.Requests)
	case opens && resumes && w.Resumed != w.Transactions, !resumes && w.Resumed > 0:
		return fmt.Errorf("%d of %d connections resumed a session (asked for: %t)", w.Resumed, w.Transactions, resumes)
	}
	return nil
}
