written by hand in the form of: ping -O -D -s 1400 -I eth0 -c 3 10.42.1.7
