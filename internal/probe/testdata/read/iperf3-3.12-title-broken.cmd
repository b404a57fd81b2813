client: iperf3 -T podA -c 127.0.0.1, whose server is killed
