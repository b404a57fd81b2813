client: iperf3 -n 1 -J -c 127.0.0.1, with the receiver's count of a slow path
