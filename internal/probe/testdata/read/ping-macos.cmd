written by hand in the form of: ping -c 4 10.42.1.7 of macOS
