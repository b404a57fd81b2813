client: qperf -lp 5905 -ip 5915 -t 1 127.0.0.1 conf tcp_bw tcp_lat udp_bw udp_lat
