package packettrace

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/sample"
)

// leastShare is the fewest packets for each request that a device on the path moves. Each request
// passes it once, and so does its reply, unless a path joins several.
const leastShare = 0.5

// Devices returns the devices that moved packets with the requests: counters by node, before and after.
func Devices(before, after map[string]sample.Counters, requests float64) (moved []Device) {
	const rx, tx = ".rx_packets", ".tx_packets"
	for _, node := range slices.Sorted(maps.Keys(after)) {
		for key := range after[node] {
			name, ok := strings.CutSuffix(strings.TrimPrefix(key, "dev."), rx)
			if !ok || !isName(name) {
				continue
			}
			grown := func(of string) float64 {
				key := "dev." + name + of
				return (after[node][key] - before[node][key]) / requests
			}
			if d := (Device{node, name, grown(rx), grown(tx)}); max(d.Rx, d.Tx) >= leastShare {
				moved = append(moved, d)
			}
		}
	}
	slices.SortFunc(moved, func(a, b Device) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Dev, b.Dev)) })
	return moved
}
