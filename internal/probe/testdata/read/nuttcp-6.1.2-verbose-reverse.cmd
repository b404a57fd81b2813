client: nuttcp -P 15002 -T2 -r -v 127.0.0.1
