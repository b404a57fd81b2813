client: qperf -lp 5905 -ip 5915 -t 1 -v 127.0.0.1 tcp_bw udp_bw
