client: iperf3 --bidir -u -b 20m -P 2 -t 2 -c 127.0.0.1
