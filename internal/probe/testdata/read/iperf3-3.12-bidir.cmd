client: iperf3 --bidir -J -t 2 -c 127.0.0.1
