written by hand in the form of: ping -b -c 1 10.42.1.255
