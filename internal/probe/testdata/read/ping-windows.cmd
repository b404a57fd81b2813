written by hand in the form of: ping -n 1 10.42.1.7 of Windows
