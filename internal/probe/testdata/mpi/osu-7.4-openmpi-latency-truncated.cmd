client: the first 60 bytes of osu-7.4-openmpi-latency
