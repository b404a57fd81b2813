server: weir host private nginx.conf=daemon off; master_process off; pid nginx.pid; error_log stderr;
events { worker_connections 1024; }
http {
	access_log off; tcp_nodelay on; keepalive_requests 1000000000; keepalive_timeout 1h;
	client_body_temp_path c; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
	server { listen 10.64.2.1:5201 http2; root .; }
}
 body:1024 -- nginx -p /tmp/ -c nginx.conf -e stderr
client: h2load -t 1 -c 1 -m 16 -D 1 http://10.64.2.1:5201/body
