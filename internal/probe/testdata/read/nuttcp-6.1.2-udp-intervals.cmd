client: nuttcp -P 15001 -T3 -u -Ri20m -i1 127.0.0.1
