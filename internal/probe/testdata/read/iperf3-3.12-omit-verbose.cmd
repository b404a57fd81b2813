client: iperf3 -u -b 5M -O 1 -V -t 1 -c 127.0.0.1
