client: nuttcp -P 5201 -p 5211 -T 1 -l131072 -R0 -v -fparse 10.64.2.1
