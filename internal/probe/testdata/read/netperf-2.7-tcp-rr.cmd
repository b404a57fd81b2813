written by hand in the form of: netperf -H 10.0.0.2 -t TCP_RR
