package study

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/strictyaml"
)

// Encode writes s as YAML with all defaults filled in; Load reads the same study back. Equal
// studies give equal bytes. An invalid study is an error.
func (s Study) Encode() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("study %s: %w", s.Name, err)
	}
	f := fileOf(s)
	var b bytes.Buffer
	line := func(key string, value any) { fmt.Fprintf(&b, "%s: %s\n", key, strictyaml.Quote(fmt.Sprint(value))) }
	lineIfSet := func(key string, value any) {
		if !reflect.ValueOf(value).IsZero() {
			line(key, value)
		}
	}
	list := func(key string, uses []Use) {
		fmt.Fprintf(&b, "%s:\n", key)
		for _, u := range uses {
			fmt.Fprintf(&b, "  - %s\n", u)
		}
	}
	line("name", f.Name)
	line("question", f.Question)
	line("description", f.Description)
	list("networks", f.Networks)
	list("probes", f.Probes)
	if len(f.Factors) > 0 {
		b.WriteString("factors:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Factors)) {
		fmt.Fprintf(&b, "  %s: %s\n", strictyaml.Quote(name), strictyaml.NewList(f.Factors[name]).Flow())
	}
	if len(f.Events) > 0 {
		b.WriteString("events:\n")
	}
	for _, e := range f.Events {
		fmt.Fprintf(&b, "  - %s\n", eventLine(e))
	}
	line("baseline", f.Baseline)
	if len(f.Compare) > 0 {
		b.WriteString("compare:\n")
	}
	for _, c := range f.Compare {
		fmt.Fprintf(&b, "  - %s\n", c)
	}
	line("blocks", f.Blocks)
	lineIfSet("precision", f.Precision)
	lineIfSet("max-time", f.MaxTime)
	lineIfSet("keep-disturbed", f.KeepDisturbed)
	lineIfSet("profile", f.Profile)
	if f.Swap || f.OneWay {
		line("swap", f.Swap)
	}
	lineIfSet("pairs", f.Pairs)
	lineIfSet("rounds", f.Rounds)
	lineIfSet("one-at-a-time", f.OneAtATime)
	lineIfSet("episodes", f.Episodes)
	line("warmup", f.Warmup)
	line("duration", f.Duration)
	fmt.Fprintf(&b, "fast: {blocks: %d, warmup: %v, duration: %v}\n", f.Fast.Blocks, f.Fast.Warmup, f.Fast.Duration)
	line("seed", f.Seed)
	line("hosts", f.Hosts)
	line("pods", f.Pods)
	line("pods-ipv6", f.PodsIPv6)
	b.WriteString("underlay:\n")
	line("  mtu", f.Underlay.MTU)
	line("  link", f.Underlay.Link)
	line("  nic", f.Underlay.NIC)
	if f.Underlay.Delay > 0 { // otherwise there is no jitter
		line("  delay", ascii(f.Underlay.Delay))
		line("  jitter", ascii(f.Underlay.Jitter))
	}
	lineIfSet("  loss", f.Underlay.Loss)
	line("  ipv6", f.Underlay.IPv6)
	if f.Target.Exists() {
		fmt.Fprintf(&b, "target: %s\n", f.Target)
	}
	if b.Len() > strictyaml.MaxSource {
		return nil, fmt.Errorf("study %s has %d bytes: want at most %d", s.Name, b.Len(), strictyaml.MaxSource)
	}
	return b.Bytes(), nil
}

// ascii formats a time with "us", which needs no quotes.
func ascii(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }

// String returns u in the form of a study file.
func (u Use) String() string {
	if len(u.Options) == 0 && (u.Name == u.Kind || u.Name == "") {
		return strictyaml.Quote(u.Kind)
	}
	parts := []string{"use: " + strictyaml.Quote(u.Kind)}
	if u.Name != u.Kind && u.Name != "" {
		parts = append(parts, "name: "+strictyaml.Quote(u.Name))
	}
	for _, key := range slices.Sorted(maps.Keys(u.Options)) {
		value := u.Options[key]
		if n, err := strictyaml.ParseFlow(value); err == nil {
			value = n.Flow()
		}
		parts = append(parts, strictyaml.Quote(key)+": "+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
