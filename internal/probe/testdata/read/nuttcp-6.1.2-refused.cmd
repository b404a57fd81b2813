client: nuttcp -T1 -r -v 10.99.0.2
