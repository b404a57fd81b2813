client: busybox ping, four times, the last without an answer
