package packettrace

import (
	"fmt"
	"math"
	"strings"

	"github.com/cilium/ebpf/btf"
)

// A layout is where the running kernel keeps what the programs read: offsets in bytes. They differ between
// kernels, so they come from the kernel's own description of its types
// (Documentation/bpf/btf.rst, /sys/kernel/btf/vmlinux).
type layout struct {
	skbDev, skbSock, skbLen, skbData int16 // of struct sk_buff
	devName, devNamespace            int16 // of struct net_device
	inode                            int16 // of struct net: the number that names its namespace
}

// layoutOf looks the offsets up; find returns a structure by name.
func layoutOf(find func(name string) (*btf.Struct, error)) (l layout, err error) {
	for _, f := range []struct {
		to   *int16
		in   string
		path string
	}{
		{&l.skbDev, "sk_buff", "dev"},
		{&l.skbSock, "sk_buff", "sk"},
		{&l.skbLen, "sk_buff", "len"},
		{&l.skbData, "sk_buff", "data"},
		{&l.devName, "net_device", "name"},
		{&l.devNamespace, "net_device", "nd_net.net"},
		{&l.inode, "net", "ns.inum"},
	} {
		s, err := find(f.in)
		if err != nil {
			return l, fmt.Errorf("type struct %s in the kernel's BTF: %w", f.in, err)
		}
		if *f.to, err = offset(s, f.path); err != nil {
			return l, fmt.Errorf("this kernel's BTF: %w", err)
		}
	}
	return l, nil
}

// offset returns where a member is, in bytes; path has a dot between a member and a member of it.
func offset(s *btf.Struct, path string) (int16, error) {
	name, rest, deeper := strings.Cut(path, ".")
	m, at, ok := member(s.Members, name)
	switch {
	case !ok:
		return 0, fmt.Errorf("struct %s has no member %s", s.Name, name)
	case at%8 != 0 || m.BitfieldSize != 0:
		return 0, fmt.Errorf("%s of struct %s is a bit field", name, s.Name)
	case at/8 > math.MaxInt16: // an instruction has no larger one
		return 0, fmt.Errorf("%s of struct %s is %d bytes behind its beginning, more than %d", name, s.Name, at/8, math.MaxInt16)
	case !deeper:
		return int16(at / 8), nil
	}
	inner, ok := btf.UnderlyingType(m.Type).(*btf.Struct)
	if !ok {
		return 0, fmt.Errorf("%s of struct %s is not a structure, so it has no member %s", name, s.Name, rest)
	}
	more, err := offset(inner, rest)
	return int16(at/8) + more, err
}

// member finds a member by name, also in unnamed structures and unions, and returns its offset in bits.
func member(members []btf.Member, name string) (found btf.Member, at btf.Bits, ok bool) {
	for _, m := range members {
		if m.Name == name {
			return m, m.Offset, true
		}
		if m.Name != "" {
			continue
		}
		var inner []btf.Member
		switch t := btf.UnderlyingType(m.Type).(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		if found, at, ok = member(inner, name); ok {
			return found, m.Offset + at, true
		}
	}
	return btf.Member{}, 0, false
}

// reasonsOf returns the names of the kernel's reasons for dropping a packet by number
// (include/net/dropreason-core.h), without their prefix.
func reasonsOf(e *btf.Enum) map[uint32]string {
	names := map[uint32]string{}
	for _, v := range e.Values {
		names[uint32(v.Value)] = strings.TrimPrefix(v.Name, "SKB_DROP_REASON_")
	}
	return names
}
