written by hand in the form of: iperf3 --bidir, its lines broken by a mail program
