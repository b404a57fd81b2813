written by hand in the form of: qperf -ub 10.0.0.2 tcp_bw
