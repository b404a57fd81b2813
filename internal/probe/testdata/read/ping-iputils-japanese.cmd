written by hand in the form of: LANG=ja_JP.UTF-8 ping 10.42.1.7
