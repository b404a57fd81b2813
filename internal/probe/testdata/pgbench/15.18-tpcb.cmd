server: weir host private hba=host all all all trust
 -- initdb -D data -U weir -A trust -E UTF8 --locale C --no-sync -- postgres -D data -h 10.64.2.1 -p 5201 -c hba_file=/tmp/hba -c unix_socket_directories= -c dynamic_shared_memory_type=mmap
client: weir host private -- pgbench -i -q -s 1 -h 10.64.2.1 -p 5201 -U weir postgres -- pgbench -n -c 4 -j 1 -T 1 -h 10.64.2.1 -p 5201 -U weir postgres
