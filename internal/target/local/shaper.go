package local

import (
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/evidence"
)

// Attributes of include/uapi/linux/pkt_sched.h: the parameters of tbf and of a class of htb, and their rates if 32 bits do
// not suffice.
const (
	tbfParms, tbfRate64 = 1, 4
	htbParms, htbCeil64 = 1, 7

	sizeofRateSpec = 12 // struct tc_ratespec; its last word is bytes per second
	ticksPerSecond = 1e9 / 64
)

// shapers adds the rates that queueing disciplines keep to the devices: for a token bucket its own, for htb the largest
// that a class can reach. The rates of other kinds stay unknown.
func shapers(devices map[string]evidence.Device, indices map[string]int) error {
	limited := false
	for _, d := range devices {
		limited = limited || d.Qdisc == "tbf" || d.Qdisc == "htb"
	}
	if !limited {
		return nil
	}
	n, err := openNetlink(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer n.close()
	for name, d := range devices {
		request := unix.RTM_GETQDISC
		switch d.Qdisc {
		case "htb":
			request = unix.RTM_GETTCLASS
		case "tbf":
		default:
			continue
		}
		var rates []float64
		body := make([]byte, sizeofTcMsg)
		binary.NativeEndian.PutUint32(body[4:], uint32(indices[name]))
		err := n.ask(request, unix.NLM_F_DUMP, body, func(m syscall.NetlinkMessage) {
			if len(m.Data) < sizeofTcMsg || word(m.Data[4:]) != uint32(indices[name]) || d.Qdisc == "tbf" && word(m.Data[12:]) != tcRoot {
				return
			}
			rate, burst := shaperOf(m)
			d.Limit, d.Burst = max(d.Limit, rate), max(d.Burst, burst)
			rates = append(rates, rate)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		slices.Sort(rates)
		if rates = slices.Compact(rates); len(rates) > 1 {
			d.Classes = rates
		}
		devices[name] = d
	}
	return nil
}

// shaperOf reads the rate, bit/s, of a message about a tbf or a class of htb, and the burst of a tbf, bytes; 0 if unknown.
func shaperOf(m syscall.NetlinkMessage) (rate, burst float64) {
	kind := ""
	var options []byte
	for k, v := range attributes(m.Data[sizeofTcMsg:]) {
		switch k {
		case unix.TCA_KIND:
			kind = unix.ByteSliceToString(v)
		case unix.TCA_OPTIONS:
			options = v
		}
	}
	perSecond := 0.0 // bytes
	for k, v := range attributes(options) {
		switch {
		case kind == "tbf" && k == tbfParms && len(v) >= 3*sizeofRateSpec: // struct tc_tbf_qopt: rate, peak, limit, buffer, mtu
			perSecond = max(perSecond, float64(word(v[8:])))
			burst = float64(word(v[2*sizeofRateSpec+4:])) // in ticks
		case kind == "htb" && k == htbParms && len(v) >= 2*sizeofRateSpec: // struct tc_htb_opt: rate, ceil
			perSecond = max(perSecond, float64(word(v[sizeofRateSpec+8:])))
		case (kind == "tbf" && k == tbfRate64 || kind == "htb" && k == htbCeil64) && len(v) >= 8:
			perSecond = float64(binary.NativeEndian.Uint64(v))
		}
	}
	return 8 * perSecond, burst * perSecond / ticksPerSecond
}
