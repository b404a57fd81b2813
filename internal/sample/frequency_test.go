package sample

import (
	"errors"
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
	if hz, err := Frequency(root); err != nil || hz != 3e9 {
		t.Errorf("%v Hz, %v, want 3 GHz", hz, err)
	}
	if hz, err := Frequency(fstest.MapFS{}); !errors.Is(err, ErrNoFrequency) {
		t.Errorf("%v Hz, %v on a machine that does not tell", hz, err)
	}
	root[dir+"cpu11/cpufreq/scaling_cur_freq"] = &fstest.MapFile{Data: []byte("<unknown>\n")}
	if hz, err := Frequency(root); err == nil {
		t.Errorf("%v Hz of a file that holds no number", hz)
	}
}
