written by hand in the form of: netperf -t TCP_RR -I 99,5 -H 10.0.0.2
