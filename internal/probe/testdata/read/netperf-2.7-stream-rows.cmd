written by hand in the form of: netperf -H 10.0.0.2 -- -m 64, and with -P 0 for 1024 and 16384
