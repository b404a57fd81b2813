written by hand in the form of: iperf -d -c 10.0.0.2
