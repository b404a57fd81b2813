written by hand in the form of: LANG=zh_CN.UTF-8 ping -c 2 10.42.1.7
