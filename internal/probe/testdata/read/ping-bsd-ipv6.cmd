written by hand in the form of: ping6 -c 2 fd00::2 of FreeBSD
