client: python3 -m mpi4py.bench pingpong -m 8 -n 8 -l 2000 --loop-large 2000 --loop-huge 2000 -a none
