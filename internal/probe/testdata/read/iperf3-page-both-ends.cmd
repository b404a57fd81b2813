written by hand in the form of: iperf3, both ends
