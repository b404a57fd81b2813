package cli

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
)

// A flag of a study is in the study as it was written, or refused.
func TestStudyFlagsAsWritten(t *testing.T) {
	var names []string
	bind(&study.Study{}).VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	values := []string{"0", "-1", "1", "2", "100000", "100001", strconv.Itoa(math.MaxInt64), "9223372036854775808", "18446744073709551615", "NaN", "0s", "-1s", "9ms", "10ms", "1h0m0s", "1h0m1s", "1ns", "1kbit", "7bit", "0bit", "0%", "50%", "50.1%"}
	tried := 0
	for _, name := range append(names, "precision", "loss") {
		for _, v := range values {
			var f studyFlags
			c := &cobra.Command{}
			f.register(c)
			if c.ParseFlags([]string{"--" + name + "=" + v}) != nil {
				continue
			}
			s, err := f.study(c, nil)
			if err == nil {
				err = place.Check(s)
			}
			if err != nil {
				continue
			}
			tried++
			is := map[string]float64{"precision": s.Precision, "loss": s.Topology.Distance.Loss}[name]
			if flag := bind(&s).Lookup(name); flag != nil && flag.Value.String() != v && flag.Value.String() != map[string]string{"0": "false", "1": "true"}[v] && (flag.Value.String() != "0s" || v != "0") ||
				flag == nil && strconv.FormatFloat(100*is, 'g', 4, 64) != strings.TrimSuffix(v, "%") {
				t.Errorf("--%s=%s is accepted, and is something else", name, v)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d flags were accepted: the test looks in the wrong place", tried)
	}
}

// The flags of a topology, too.
func TestTopologyFlagsAsWritten(t *testing.T) {
	for _, args := range []string{"--hosts=0", "--hosts=-1", "--pods=0", "--mtu=0", "--mtu=1", "--mtu=65536", "--link=0bit", "--link=7bit", "--link=NaN", "--hosts=2 -n bridge", "--delay=-1s", "--loss=100%", "--hosts=16384"} {
		var f oneNetwork
		c := &cobra.Command{}
		f.register(c)
		if err := c.ParseFlags(append([]string{"-n", "host"}, strings.Fields(args)...)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.build(c); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}
