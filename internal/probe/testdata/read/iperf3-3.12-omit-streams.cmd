client: iperf3 -u -b 5M -O 1 -P 2 -t 1 -c 127.0.0.1
