written by hand in the form of: ping -q -f -c 10000 10.42.1.7
