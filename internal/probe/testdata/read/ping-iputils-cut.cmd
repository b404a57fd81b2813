written by hand in the form of: ping 10.42.1.7, killed
