written by hand in the form of: netperf -t omni -- -k THROUGHPUT,THROUGHPUT_UNITS,PROTOCOL, and once more with -P 0
