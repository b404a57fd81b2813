written by hand in the form of: LANG=de_DE.UTF-8 ping -s 1400 -c 3 db-1
