client: iperf3 -c 127.0.0.1 -p 5903 -t 1 -u -b 20m -P 2 -O 1
