package facts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Difference is a fact that differs between runs.
type Difference struct {
	Key    string   `json:"key"`    // name of the host and of the fact: local.sysctls.net.core.rmem_max
	Values []string `json:"values"` // by run; "" where the run did not record it
}

// passing lists the facts that always differ between runs, even on one machine.
var passing = []string{"load", "throttled"}

// Differ compares the facts that runs stored: JSON by name, such as a host's. It compares all keys, so
// that it works with every version of weir. It skips facts that it cannot read, and those of a host
// that some runs lack: then the host itself is the difference.
func Differ(runs []map[string][]byte) (out []Difference) {
	sets := make([]map[string]string, len(runs))
	keys := map[string]bool{}
	for i, hosts := range runs {
		sets[i] = map[string]string{}
		for name, b := range hosts {
			if slices.ContainsFunc(runs, func(other map[string][]byte) bool { return other[name] == nil }) {
				sets[i][name] = "recorded"
				continue
			}
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			var v map[string]any
			if d.Decode(&v) != nil {
				continue
			}
			for _, k := range passing {
				delete(v, k)
			}
			values(v)
			flatten(sets[i], name, v)
		}
		for k := range sets[i] {
			keys[k] = true
		}
	}
	alike := map[string]bool{} // kernels with other defaults differ in one setting of every device of every path: the first one is enough
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		d := Difference{Key: k}
		host, setting, isSetting := strings.Cut(k, settingsKey)
		sysctlOf, _, isSysctl := strings.Cut(k, ".sysctls.")
		older := false // sysctls, before there were settings, and devices, before they were recorded
		of, device, isDevice := strings.Cut(k, devicesKey)
		for _, s := range sets {
			v := s[k]
			older = older || isDevice && s[of+devicesKey+recorded] == "" // or in a run that looked for none
			older = older || v == "" && strings.HasPrefix(k, Paths+".")  // or in a run without this network
			if isSetting && v == "" && s[host+settingsKey+recorded] != "" {
				v = "default"
			}
			d.Values = append(d.Values, v)
			older = older || isSysctl && s[sysctlOf+settingsKey+recorded] != ""
		}
		if older || setting == recorded || device == recorded {
			continue
		}
		same := fmt.Sprint(k[strings.LastIndexByte(k, '.')+1:], d.Values)
		if len(slices.Compact(slices.Clone(d.Values))) > 1 && !(strings.HasPrefix(k, Paths+".") && alike[same]) {
			out = append(out, d)
			alike[same] = strings.HasPrefix(k, Paths+".")
		}
	}
	return out
}

// Paths names the settings of the paths that a run measured.
const Paths = "paths"

const (
	devicesKey  = ".devices."
	settingsKey = ".settings." // between a host and one of its settings
	recorded    = "recorded"
)

// values replaces each setting of a host by its value, and marks that settings and devices were recorded:
// a setting that is missing then has its default.
func values(host map[string]any) {
	if devices, ok := host["devices"].(map[string]any); ok {
		devices[recorded] = true
	}
	settings, ok := host["settings"].(map[string]any)
	if !ok {
		return
	}
	for name, x := range settings {
		if s, ok := x.(map[string]any); ok {
			settings[name] = s["value"]
		}
	}
	settings[recorded] = true
}

// flatten adds the scalars of v under keys with dots. A list is one value.
func flatten(to map[string]string, key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(to, key+"."+k, x)
		}
	case []any:
		to[key] = strings.Trim(fmt.Sprint(v), "[]")
	case nil:
	default:
		to[key] = fmt.Sprint(v)
	}
}
