package profile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// symbols are the functions of the kernel, by address.
type symbols []symbol

type symbol struct {
	at   uint64
	name string
}

// errHidden means that the kernel shows all addresses as 0 (kallsyms_show_value, kernel/ksyms_common.c).
var errHidden = errors.New("/proc/kallsyms shows no addresses")

// parseSymbols reads /proc/kallsyms: lines of address, type and name, and the module in brackets.
func parseSymbols(r io.Reader) (symbols, error) {
	var all symbols
	hidden := true
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 3 {
			return nil, fmt.Errorf("kallsyms: line %q: want an address, a type and a name", lines.Text())
		}
		at, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("kallsyms: line %q: %w", lines.Text(), err)
		}
		hidden = hidden && at == 0
		if strings.ContainsAny(f[1], "tTwW") && at != 0 && !strings.HasPrefix(f[2], "__pfx_") { // padding before a function
			all = append(all, symbol{at, function(f[2])})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("kallsyms: %w", err)
	}
	if hidden {
		return nil, errHidden
	}
	// Of several names of one address the last one stays.
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.at, b.at) })
	return all, nil
}

// function returns a name without what the compiler adds to parts and copies of a function, as in
// ip_rcv_core.isra.0.
func function(name string) string {
	if name == "_etext" || name == "_einittext" { // ends of the kernel; code above it that has no name is not this
		return ""
	}
	if i := strings.IndexByte(name, '.'); i > 0 {
		name = name[:i]
	}
	return name
}

// name returns the function at an address, "" for one that is not the kernel's.
func (s symbols) name(at uint64) string {
	i := sort.Search(len(s), func(i int) bool { return s[i].at > at })
	if i == 0 {
		return ""
	}
	return s[i-1].name
}
