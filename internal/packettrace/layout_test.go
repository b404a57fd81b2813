package packettrace

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// kernelTypes resemble those of Linux 6.18: members in unnamed structures and unions, a named member behind
// them, and a structure in a structure.
func kernelTypes() map[string]*btf.Struct {
	pointer := &btf.Pointer{}
	number := &btf.Int{Size: 4}
	unnamed := &btf.Union{Size: 24, Members: []btf.Member{
		{Type: &btf.Struct{Size: 24, Members: []btf.Member{
			{Name: "next", Type: pointer, Offset: 0},
			{Name: "prev", Type: pointer, Offset: 64},
			{Type: &btf.Union{Size: 8, Members: []btf.Member{{Name: "dev", Type: pointer}, {Name: "dev_scratch", Type: pointer}}}, Offset: 128},
		}}},
		{Name: "rbnode", Type: &btf.Struct{Size: 24}},
	}}
	possible := &btf.Typedef{Name: "possible_net_t", Type: &btf.Struct{Members: []btf.Member{{Name: "net", Type: pointer}}}}
	common := &btf.Struct{Name: "ns_common", Members: []btf.Member{{Name: "ops", Type: pointer}, {Name: "inum", Type: number, Offset: 128}}}
	return map[string]*btf.Struct{
		"sk_buff": {Name: "sk_buff", Members: []btf.Member{
			{Type: unnamed}, {Name: "sk", Type: pointer, Offset: 192}, {Name: "len", Type: number, Offset: 896},
			{Name: "cloned", Type: number, Offset: 1000, BitfieldSize: 1}, {Name: "data", Type: pointer, Offset: 1600}}},
		"net_device": {Name: "net_device", Members: []btf.Member{
			{Name: "ifindex", Type: number, Offset: 1696}, {Name: "nd_net", Type: possible, Offset: 2176}, {Name: "name", Type: number, Offset: 2304}}},
		"net": {Name: "net", Members: []btf.Member{{Name: "passive", Type: number}, {Name: "ns", Type: common, Offset: 1024}}},
	}
}

func finder(types map[string]*btf.Struct) func(string) (*btf.Struct, error) {
	return func(name string) (*btf.Struct, error) {
		if s := types[name]; s != nil {
			return s, nil
		}
		return nil, btf.ErrNotFound
	}
}

func TestLayout(t *testing.T) {
	got, err := layoutOf(finder(kernelTypes()))
	want := layout{skbDev: 16, skbSock: 24, skbLen: 112, skbData: 200, devName: 288, devNamespace: 272, inode: 128 + 16}
	if err != nil || got != want {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
}

// A kernel without a member is named with the member: the programs would read something else.
func TestLayoutMissing(t *testing.T) {
	for want, change := range map[string]func(map[string]*btf.Struct){
		"struct net in":                   func(ts map[string]*btf.Struct) { delete(ts, "net") },
		"struct sk_buff has no member sk": func(ts map[string]*btf.Struct) { ts["sk_buff"].Members[1].Name = "sock" },
		"len of struct sk_buff is a bit field": func(ts map[string]*btf.Struct) {
			ts["sk_buff"].Members[2].BitfieldSize = 3
		},
		"ns of struct net is not a structure": func(ts map[string]*btf.Struct) { ts["net"].Members[1].Type = &btf.Int{} },
	} {
		types := kernelTypes()
		change(types)
		if _, err := layoutOf(finder(types)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestReasons(t *testing.T) {
	got := reasonsOf(&btf.Enum{Values: []btf.EnumValue{{Name: "SKB_CONSUMED", Value: 1}, {Name: "SKB_DROP_REASON_SOCKET_RCVBUFF", Value: 6}}})
	if fmt.Sprint(got) != "map[1:SKB_CONSUMED 6:SOCKET_RCVBUFF]" {
		t.Error(got)
	}
}

// The instructions are what a reviewer of a kernel program reads.
func TestPrograms(t *testing.T) {
	l, err := layoutOf(finder(kernelTypes()))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, p := range points {
		fmt.Fprintf(&b, "# %s\n%v\n", p.name, program(l, i, []uint32{4026531840, 4026532001}, 4, 5))
	}
	golden(t, "programs.golden", b.String())
}

// Whatever is in the ring buffer, a record is an event of a known kind with no more of its packet than it holds.
func FuzzRecord(f *testing.F) {
	for i := range points {
		b := make([]byte, recordSize)
		binary.NativeEndian.PutUint32(b[recordPoint:], uint32(i))
		binary.NativeEndian.PutUint32(b[recordLen:], uint32(40*i))
		copy(b[recordDev:], "eth0")
		f.Add(b)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseRecord(b, map[uint32]string{1: "a"}, map[uint32]string{2: "NO_SOCKET"})
		switch {
		case err != nil && (e.Kind != "" || e.Head != nil):
			t.Errorf("both an error and %+v", e)
		case err == nil && (e.Kind == "" || len(e.Head) != min(HeadSize, e.Len) || strings.Contains(e.Dev, "\x00") || (e.Kind == Drop) != (e.Reason != "")):
			t.Errorf("%+v", e)
		}
	})
}
