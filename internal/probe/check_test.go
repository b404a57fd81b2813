package probe

import (
	"bytes"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "write the golden files")

func checkGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; review the result of -update:\n%s", file, got)
	}
}

func checkMeasured(t *testing.T, m Measured, err error) {
	t.Helper()
	if (err == nil) == (len(m.Values) == 0) {
		t.Errorf("%d values and error %v: want exactly one", len(m.Values), err)
	}
	seen := map[record.Key]bool{}
	for _, v := range m.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			t.Errorf("%s = %v", v.Name, v.Value)
		}
		if v.Name == "" || v.Unit == "" || seen[v.Key()] {
			t.Errorf("value without a unique name or without a unit: %+v", v)
		}
		seen[v.Key()] = true
	}
}
