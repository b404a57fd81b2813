client: nuttcp -T1 10.99.0.2, whose server ended
