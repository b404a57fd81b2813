package sample

import (
	"testing"
	"testing/fstest"
)

func TestFrequency(t *testing.T) {
	const dir = "sys/devices/system/cpu/"
	root := fstest.MapFS{
		dir + "cpu0/cpufreq/scaling_cur_freq":          {Data: []byte("2400000\n")},
		dir + "cpu11/cpufreq/scaling_cur_freq":         {Data: []byte("3600000\n")},
		dir + "cpufreq/policy0/scaling_cur_freq":       {Data: []byte("1\n")},
		dir + "cpu0/cpuidle/state0/scaling_cur_freq":   {Data: []byte("1\n")},
		dir + "cpuidle/cpu0/cpufreq/scaling_cur_freq ": {Data: []byte("1\n")},
	}
	c, err := frequency(root)
	if err != nil || c["frequency"] != 3e9 {
		t.Errorf("%v, %v, want 3 GHz", c, err)
	}
	c, err = frequency(fstest.MapFS{})
	if err != nil || len(c) > 0 {
		t.Errorf("%v, %v on a machine that does not report it", c, err)
	}
	root[dir+"cpu11/cpufreq/scaling_cur_freq"] = &fstest.MapFile{Data: []byte("<unknown>\n")}
	c, err = frequency(root)
	if err == nil || len(c) > 0 {
		t.Errorf("%v of a file that holds no number", c)
	}
}

func TestNamed(t *testing.T) {
	c, errs := Named(fstest.MapFS{"proc/net/softnet_stat": {Data: []byte("1 2 3 0 0 0 0 0 0\n")}}, OfSoftnet, "steam")
	if c["softnet.squeezed"] != 3 || len(errs) != 1 {
		t.Errorf("%v, %v; want one error, about the name", c, errs)
	}
}
