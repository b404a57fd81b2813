client: NPtcp -h 127.0.0.1 -P 5923 -u 64
