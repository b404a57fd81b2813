client: busybox ping -q -c 2 -s 1000 10.99.0.2
