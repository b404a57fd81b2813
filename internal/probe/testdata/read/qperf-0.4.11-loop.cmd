client: qperf 10.99.0.2 -oo msg_size:1:1K:*4 -t 1 -vu tcp_bw
