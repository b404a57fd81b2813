written by hand in the form of: netperf -D 1 -I 95,5 -H 10.0.5.7
