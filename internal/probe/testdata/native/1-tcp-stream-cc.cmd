weir engine run tcp-stream 127.0.0.1:5201 --cc nonesuch
