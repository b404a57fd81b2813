client: iperf3 -c 10.99.0.2 -t 1 --bidir -u -b 5M -T x
