written by hand in the form of: LANG=fr_FR.UTF-8 ping -c 2 10.42.1.7
