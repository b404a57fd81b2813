client: iperf3 -J -t 1 -c 127.0.0.1, with a -nan
