written by hand in the form of: ping -c 2 10.42.1.7; ping -c 2 10.42.1.8, their ends only
