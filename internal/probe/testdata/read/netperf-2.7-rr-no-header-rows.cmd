written by hand in the form of: netperf -t TCP_RR -H 10.0.0.2, and once more with -P 0
