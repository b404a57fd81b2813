package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/plan"
)

func routeTo(i int, via string) plan.Step {
	dst := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)
	return plan.Step{In: "a", Route: &plan.Route{Dst: dst, Via: netip.MustParseAddr(via)}}
}

// The error names the first failed step of a batch, with the kernel's reason.
func TestBatchNamesTheStep(t *testing.T) {
	s := open(t, "a", "b")
	good := append(wire(1500), routeTo(1<<8, "198.18.0.2"), routeTo(2<<8, "198.18.0.2"))
	for _, c := range []struct {
		name  string
		steps []plan.Step
		want  string
	}{
		{"in the middle", append(good, routeTo(3<<8, "203.0.113.1"), routeTo(4<<8, "198.18.0.2"), routeTo(5<<8, "203.0.113.1")),
			"step 6 of 8, in a: route to 198.18.3.0/32: network is unreachable: Nexthop has invalid gateway"},
		{"in another place", []plan.Step{routeTo(6<<8, "198.18.0.2"), {In: "b", Set: &plan.Set{Dev: "e0", MTU: 7}}, routeTo(6<<8, "198.18.0.2")},
			"step 2 of 3, in b: set MTU of e0 to 7: invalid argument: mtu less than device minimum"},
		{"before one that cannot be asked for", []plan.Step{routeTo(6<<8, "203.0.113.1"), {In: "a", Addr: &plan.Addr{Dev: "none", Prefix: netip.MustParsePrefix("198.18.9.1/24")}}},
			"step 1 of 2, in a: route to 198.18.6.0/32: network is unreachable"},
		{"of a device that an earlier step failed to make", []plan.Step{{In: "a", Link: &plan.Link{Name: "e0", Kind: "bridge"}}, {In: "a", Set: &plan.Set{Dev: "e0", MTU: 1400}}},
			"step 1 of 2, in a: add bridge e0: file exists"},
	} {
		err := s.Apply(t.Context(), c.steps)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	// A failed batch leaves no wrong device numbers in the cache.
	if err := s.Apply(t.Context(), []plan.Step{{In: "a", Set: &plan.Set{Dev: "e0", MTU: 1400}}}); err != nil {
		t.Error(err)
	}
	if err := s.Verify(t.Context(), []plan.State{{In: "a", Dev: "e0", MTU: 1400}}); err != nil {
		t.Error(err)
	}
}

// The first refusal is reported even if the socket has no room for all of them.
func TestManyRefusals(t *testing.T) {
	s := open(t, "a")
	var steps []plan.Step
	for i := range 3000 {
		steps = append(steps, routeTo(i, "203.0.113.1"))
	}
	err := s.Apply(t.Context(), steps)
	if err == nil || !strings.HasPrefix(err.Error(), "step 1 of 3000, in a: route to 198.18.0.0/32: ") || !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("error %v", err)
	}
}

// Steps find a device that a daemon recreated under another number.
func TestDeviceMadeAgain(t *testing.T) {
	s := open(t, "a", "b")
	if err := s.Apply(t.Context(), wire(1500)); err != nil {
		t.Fatal(err)
	}
	nl := reader(t, s.Nodes["a"])
	link, err := nl.LinkByName("e0")
	if err == nil {
		err = nl.LinkDel(link)
	}
	if err == nil { // a daemon acts behind weir's back
		err = s.Apply(t.Context(), []plan.Step{{In: "b", Link: &plan.Link{Name: "e0", Kind: "veth", Peer: "e1", PeerIn: "a"}}})
	}
	if err == nil {
		link, err = nl.LinkByName("e1")
	}
	if err == nil {
		err = errors.Join(nl.LinkSetDown(link), nl.LinkSetName(link, "e0"), nl.LinkSetUp(link))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), []plan.Step{
		{In: "a", File: &plan.File{Name: "x"}}, // from here on, programs of the place can change devices
		{In: "a", Addr: &plan.Addr{Dev: "e0", Prefix: netip.MustParsePrefix("198.18.0.1/24")}}}); err != nil {
		t.Error(err)
	}
}

// An impossible answer from the kernel never crashes.
func FuzzRefusal(f *testing.F) {
	f.Add([]byte{0xed, 0xff, 0xff, 0xff, 16: 0, 19: 0, 20: 8, 22: 1, 24: 'n', 25: 'o', 27: 0}, uint16(unix.NLM_F_ACK_TLVS))
	f.Add([]byte{0, 0, 0, 0}, uint16(0))
	f.Add([]byte{1}, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, flags uint16) {
		if err := refusal(b, flags); err == nil && len(b) < 4 {
			t.Errorf("%d bytes are a success", len(b))
		}
	})
}

func TestAttribute(t *testing.T) {
	r := newRequest(0, 0, unix.IfInfomsg{})
	r.str(7, "abc")
	r.nest(9, func() { r.u16(1, 0x1234) })
	b := r.b[unix.SizeofNlMsghdr+unix.SizeofIfInfomsg:]
	if got := fmt.Sprintf("%q %x %v", attribute(b, 7), attribute(attribute(b, 9), 1), attribute(b, 8)); got != fmt.Sprintf("%q %x []", "abc\x00", native.AppendUint16(nil, 0x1234)) {
		t.Error(got)
	}
}
