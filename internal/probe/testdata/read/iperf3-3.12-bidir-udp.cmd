client: iperf3 --bidir -u -b 5M -t 1 -c 127.0.0.1
