client: nuttcp -P 5904 -p 5914 -T1 -v -u -R20m 127.0.0.1
