written by hand in the form of: netperf -t UDP_RR -v 2 -- -o THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,P99_LATENCY,ELAPSED_TIME
