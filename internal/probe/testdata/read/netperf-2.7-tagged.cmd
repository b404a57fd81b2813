written by hand in the form of: netperf -H 10.0.0.2 -- -m 64, in the log of a program
