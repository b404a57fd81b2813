written by hand in the form of: iperf -s and iperf -c, as a page shows them with mixed indents
