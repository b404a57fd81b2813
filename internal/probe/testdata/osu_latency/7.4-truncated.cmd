client: the first 60 bytes of 7.4-osu-latency.out
