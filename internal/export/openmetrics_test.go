package export

import (
	"encoding/json"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestOpenMetrics(t *testing.T) {
	golden(t, "openmetrics.txt", written(t, OpenMetrics, recorded(t)))
	golden(t, "openmetrics-pooled.txt", written(t, OpenMetrics, made(1, "third", unchanged), made(2, "third", unchanged), made(3, "third", unchanged)))
}

type sample struct {
	Name, Unit, Type, Help, Value string
	Labels                        map[string]string
}

// parsed reads OpenMetrics with the reference parser.
func parsed(t *testing.T, text []byte) (out []sample) {
	t.Helper()
	var python string
	for _, p := range []string{"python3", "/usr/bin/python3"} { // the first can be another than the packages'
		if exec.Command(p, "-c", "import prometheus_client").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("no prometheus_client: apt install python3-prometheus-client")
	}
	if err := json.Unmarshal([]byte(read(t, text, python, "testdata/openmetrics.py")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The reference parser reads every number with its unit and interval.
func TestOpenMetricsParser(t *testing.T) {
	r := recorded(t)
	samples := parsed(t, written(t, OpenMetrics, r))
	get := func(name string, labels ...string) (s sample, v float64) {
		for _, s := range samples {
			ok := s.Name == name
			for i := 0; i < len(labels); i += 2 {
				ok = ok && s.Labels[labels[i]] == labels[i+1]
			}
			if ok {
				v, err := strconv.ParseFloat(s.Value, 64)
				if err != nil {
					t.Fatal(err)
				}
				return s, v
			}
		}
		t.Errorf("no sample %s%v", name, labels)
		return sample{}, math.NaN()
	}
	for tab, row := range r.Analysis.Rows() {
		unit := unitNames[tab.Unit]
		name := "weir_" + metricName(string(tab.Metric))
		cell := []string{"network", row.Network, "probe", tab.Probe}
		s, v := get(name+"_"+unit, cell...)
		if s.Unit != unit || s.Type != "gauge" || s.Help == "" || v != row.Value.Center {
			t.Errorf("%s: %+v, want %g", tab.Cell(*row), s, row.Value.Center)
		}
		if _, v := get(name+"_low_"+unit, cell...); v != row.Value.Lo {
			t.Errorf("%s: lower end %g, want %g", tab.Cell(*row), v, row.Value.Lo)
		}
		if row.Ratio.N > 0 {
			if _, v := get("weir_to_base_high_ratio", append(cell, "metric", string(tab.Metric))...); v != row.Ratio.Hi {
				t.Errorf("%s: upper end of the ratio %g, want %g", tab.Cell(*row), v, row.Ratio.Hi)
			}
		}
		if _, v := get("weir_trials", append(cell, "status", "ok")...); v != float64(row.OK) {
			t.Errorf("%s: %g ok trials, want %d", tab.Cell(*row), v, row.OK)
		}
	}
	if s, v := get("weir_run_info"); v != 1 || s.Labels["kernel"] != "6.12.9" || s.Labels["study"] != "udp-vs-tcp" {
		t.Errorf("info: %+v", s)
	}
}

// Names come back as they were, except for bytes that are not UTF-8.
func TestOpenMetricsEscapes(t *testing.T) {
	samples := parsed(t, written(t, OpenMetrics, hostileRun(t)))
	found := 0
	for _, s := range samples {
		if s.Labels["network"] == strings.ToValidUTF8(hostile, "\uFFFD") {
			found++
			if s.Labels["network_"] != "x" || s.Labels["unnamed"] != "y" {
				t.Errorf("factors %v", s.Labels)
			}
		}
	}
	if found == 0 {
		t.Errorf("no sample of the network %q in %v", hostile, samples)
	}
}
