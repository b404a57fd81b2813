server: iperf -s, of two clients after each other
