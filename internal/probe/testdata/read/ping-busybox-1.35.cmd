client: busybox ping -c 3 127.0.0.1
