client: iperf3 -T podA -f M -t 2 -c 127.0.0.1
