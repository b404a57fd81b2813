client: iperf3 --bidir -J -i 0 -P 2 -t 1 -c 127.0.0.1
