written by hand in the form of: netperf -B "iteration N" -t TCP_RR -- -o RESULT_BRAND,THROUGHPUT, and twice more with -P 0
