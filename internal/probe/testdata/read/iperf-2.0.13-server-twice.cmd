written by hand in the form of: iperf -s, which names its stream twice, and iperf -c
