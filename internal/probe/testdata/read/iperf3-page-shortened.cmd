written by hand in the form of: iperf3 -P 2 and iperf3 -R, as a page shows them
