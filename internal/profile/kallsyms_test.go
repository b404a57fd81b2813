package profile

import (
	"errors"
	"strings"
	"testing"
)

const someSymbols = `ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000000 T _text
ffffffff81000040 t __pfx_ip_rcv_core
ffffffff81000050 t ip_rcv_core.isra.0
ffffffff81010000 T _etext
ffffffff82000000 D jiffies
ffffffffc0000100 t vxlan_xmit	[vxlan]
ffffffffc0000200 t bpf_prog_6deef7357e7b4530	[bpf]
`

func TestSymbols(t *testing.T) {
	s, err := parseSymbols(strings.NewReader(someSymbols))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint64]string{
		0x1000: "", 0xffffffff81000000: "_text", 0xffffffff81000045: "_text", 0xffffffff81000050: "ip_rcv_core", 0xffffffff81010001: "",
		0xffffffff8100ffff: "ip_rcv_core", 0xffffffffc00001ff: "vxlan_xmit", 0xffffffffc0000200: "bpf_prog_6deef7357e7b4530",
	} {
		if got := s.name(at); got != want {
			t.Errorf("%x is %q, want %q", at, got, want)
		}
	}
}

func TestBadSymbols(t *testing.T) {
	if _, err := parseSymbols(strings.NewReader("0000000000000000 T _text\n0000000000000000 t ip_rcv\n")); !errors.Is(err, errHidden) {
		t.Errorf("hidden addresses: error %v", err)
	}
	for _, text := range []string{"ffffffff81000000 T\n", "x T _text\n", "\n"} {
		if _, err := parseSymbols(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "kallsyms: line") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func FuzzSymbols(f *testing.F) {
	f.Add(someSymbols, uint64(0xffffffff81000051))
	f.Add("1 t .\n1 T a\n", uint64(1))
	f.Fuzz(func(t *testing.T, text string, at uint64) {
		s, err := parseSymbols(strings.NewReader(text))
		if err != nil {
			return
		}
		if name := s.name(at); name != "" && !strings.Contains(text, name) {
			t.Errorf("%x has the name %q, which is not in %q", at, name, text)
		}
	})
}
