written by hand in the form of: iperf3 twice, the second without its beginning
