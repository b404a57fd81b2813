package plan

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The commands of tc(8) for queueing disciplines.

func (r Rate) shell(in string) command {
	at := command{"root"}
	if r.Delayed {
		at = command{"parent", "1:1"}
	}
	if r.Rate == 0 {
		return append(command{"tc", "-n", in, "qdisc", "del", "dev", r.Dev}, at...)
	}
	return append(append(command{"tc", "-n", in, "qdisc", "replace", "dev", r.Dev}, at...), "tbf",
		"rate", bits(r.Rate), "burst", strconv.Itoa(r.Burst()), "limit", strconv.Itoa(r.Limit()),
		"peakrate", bits(r.Peak()), "mtu", strconv.Itoa(r.Frame()), "overhead", strconv.Itoa(WireOverhead),
		"mpu", strconv.Itoa(WireMinimum))
}

func (d Delay) shell(in string) command {
	us := func(d time.Duration) string { return fmt.Sprintf("%dus", d.Microseconds()) }
	c := command{"tc", "-n", in, "qdisc", "replace", "dev", d.Dev, "root", "handle", "1:", "netem", "delay", us(d.Delay)}
	if d.Jitter > 0 {
		c = append(c, us(d.Jitter))
	}
	if d.Loss > 0 {
		c = append(c, "loss", strconv.FormatFloat(100*d.Loss, 'g', -1, 64)+"%")
	}
	if d.Jitter > 0 { // with a rate, netem keeps packets in order (net/sched/sch_netem.c, netem_enqueue)
		c = append(c, "rate", "1000tbit")
	}
	return append(c, "limit", strconv.Itoa(DelayLimit))
}

// bits formats a rate in the largest unit of tc(8) that represents it exactly.
func bits(rate float64) string {
	n := int64(math.Round(rate))
	for _, u := range []struct {
		size int64
		name string
	}{{1e12, "tbit"}, {1e9, "gbit"}, {1e6, "mbit"}, {1e3, "kbit"}} {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "bit"
}
