package probe

import (
	"cmp"
	"strconv"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/record"
)

// ConnectOutage measures for how long no new connection is answered.
type ConnectOutage struct {
	Rate int `yaml:"rate"` // connections/s, 10 to 2000; default 500
	Size int `yaml:"size"` // bytes of request and reply, 64 to 1024; default 64
}

func (p ConnectOutage) Info() Info {
	return Info{
		Title: "Outages for new connections", Short: "new connections", Unit: "s",
		About:  "when and for how long no new TCP connection is answered (native)",
		Method: "A new connection at a fixed rate, whether or not earlier ones were answered, each with one request. " + outageMethod,
	}
}

func (p ConnectOutage) Check() error {
	return cmp.Or(event.CheckOutages("connect-outage", float64(or(p.Rate, event.DefaultConnects)), 0),
		event.CheckMessages("connect-outage", or(p.Size, defaultMessage), 1))
}

func (p ConnectOutage) Commands(w Window) (server, client []string) {
	return engineRun(w, "connect-outage", or(p.Size, defaultMessage), "--rate", strconv.Itoa(or(p.Rate, event.DefaultConnects)))
}

// Parse reads the values of outages and, of the connections, refused, reset, broken (any other error) and slow.
func (p ConnectOutage) Parse(out Output) (Measured, error) {
	var r event.ConnectOutages
	n := parseNative(out, "connect-outage", &r)
	values := n.outages(r.Outages)
	failed := int64(0)
	for name, times := range r.Errors {
		n.require(times >= 0, "%d times %s", times, name)
		failed += times
	}
	n.require(failed+r.Abandoned <= r.Lost.Sum() && r.Slow <= r.Answered, "%d connections failed and %d were given up, of %d; %d slow, of %d",
		failed, r.Abandoned, r.Lost.Sum(), r.Slow, r.Answered)
	refused, reset := r.Errors["ECONNREFUSED"], r.Errors["ECONNRESET"]
	values = append(values, record.Refused.Whole().Value("1", float64(refused)), record.Reset.Whole().Value("1", float64(reset)),
		record.Broken.Whole().Value("1", float64(failed-refused-reset)), record.SlowConnects.Whole().Value("1", float64(r.Slow)))
	return n.found("tcp", r.Outages, values, record.Ports.Is(r.Ports))
}
