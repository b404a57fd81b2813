server and client: iperf -R -t 1 -c 127.0.0.1
