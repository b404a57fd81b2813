client: iperf3 -J -c 127.0.0.1 2>&1
