written by hand in the form of: netperf -P 0 -H 10.0.0.2
