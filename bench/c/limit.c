/*
 * limit: the least work with which a C program can send and receive, and so the
 * limit of a traffic engine on plain sockets on this machine.
 *
 *   limit tcp-recv ADDR PORT WARMUP        one connection; prints bit/s received after
 *                                          WARMUP seconds, and
 *                                          the longest pause between two reads, seconds
 *   limit tcp-discard ADDR PORT WARMUP     the same, without a copy
 *   limit tcp-send ADDR PORT SECONDS       1 MiB per send, cubic, without Nagle's algorithm
 *   limit tcp-sendfile ADDR PORT SECONDS   the same pages again and again, without a copy
 *   limit tcp-zerocopy ADDR PORT SECONDS   1 MiB per send, MSG_ZEROCOPY
 *   limit udp-recv ADDR PORT               prints packet/s received when stopped
 *   limit udp-nap ADDR PORT                the same, napping instead of blocking
 *   limit udp-send ADDR PORT SECONDS SIZE  one send per datagram
 *   limit mmsg-send ADDR PORT SECONDS SIZE 32 datagrams per sendmmsg
 *   limit xdp-send ADDR PORT SECONDS SIZE  32 frames per call, AF_XDP
 *   limit gso-recv ADDR PORT WARMUP        prints bit/s received with UDP_GRO after WARMUP seconds
 *                                          when stopped, napping and waiting in turn
 *   limit gso-send ADDR PORT SECONDS SIZE  as many datagrams as a packet can carry per send, UDP_SEGMENT
 *   limit rr-serve ADDR PORT               UDP echo, spinning
 *   limit rr-ask ADDR PORT SECONDS         64 bytes, spinning; prints transactions/s
 *   limit rr-measure ADDR PORT SECONDS     the same and each response time; prints
 *                                          transactions/s, the longest response time,
 *                                          the share of the time that went into those
 *                                          above 100 us, and the median and 99.9th
 *                                          percentile of response times, seconds
 *   limit wait-serve ADDR PORT             UDP echo, blocking
 *   limit wait-measure ADDR PORT SECONDS   the same as rr-measure, blocking
 *   limit tcp-serve ADDR PORT              TCP echo, blocking, one connection after the other
 *   limit tcp-measure ADDR PORT SECONDS    the same as wait-measure, over one connection
 *   limit crr-serve ADDR PORT              TCP echo, one reply per connection
 *   limit crr-measure ADDR PORT SECONDS    the same as tcp-measure, a connection per request
 *
 * It must stay minimal: no options, and no work in a loop that is not its job. Each
 * loop says what it does and what it leaves out.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Copies to and from a buffer that begins half a page behind the start of a page avoid the
 * distances at which some processors copy three times as slowly: docs/adr/0060. */
#define SIZE (128 << 10)
#define STREAM (1 << 20) /* per call of a TCP stream, at both ends: docs/adr/0061 */
static char pages[STREAM + 4096] __attribute__((aligned(4096)));
static char *const buf = pages + 2048;
static volatile sig_atomic_t stopped;

static void stop(int sig) { stopped = sig; }

static void die(const char *what) {
	perror(what);
	exit(1);
}

static uint64_t clock_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double now(void) { return clock_ns() / 1e9; }

/* stay keeps this process on the first CPU that it can use, or the last: two ends that
 * spin must not meet, and a migration costs a cold cache. */
static void stay(int last) {
	cpu_set_t all, one;
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all))
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && (last || CPU_COUNT(&one) == 0)) {
			CPU_ZERO(&one);
			CPU_SET(i, &one);
		}
	if (sched_setaffinity(0, sizeof one, &one))
		die("sched_setaffinity");
}

static struct sockaddr_in at(char **argv) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[3]))};
	if (inet_pton(AF_INET, argv[2], &a.sin_addr) != 1) {
		fprintf(stderr, "%s is not an IPv4 address\n", argv[2]);
		exit(2);
	}
	return a;
}

static int unbound(int type) {
	int one = 1, big = 4 << 20, fd = socket(AF_INET, type, 0);
	if (fd < 0)
		die("socket");
	if (type == SOCK_STREAM) {
		if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5))
			die("cubic");
		/* Nagle's algorithm costs 15 % across a VXLAN: docs/adr/0059. */
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	} else if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof big)) {
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof big);
	}
	return fd;
}

static int sock(int type, char **argv, int serve) {
	struct sockaddr_in a = at(argv);
	int fd = unbound(type);
	if (serve ? bind(fd, (void *)&a, sizeof a) : connect(fd, (void *)&a, sizeof a))
		die(serve ? "bind" : "connect");
	return fd;
}

/* receive waits for whole buffers, as the engine's receiver does on fast paths: it returns less
 * often. It reads the clock once per read, 40 ns in some 200 us, for the warm-up and the longest
 * pause. */
static void receive(char **argv, int flags) {
	int l = sock(SOCK_STREAM, argv, 1);
	if (listen(l, 1))
		die("listen");
	int fd = accept(l, NULL, NULL);
	if (fd < 0)
		die("accept");
	double start = now() + atof(argv[4]), last = 0, bytes = 0, pause = 0;
	for (ssize_t n; !stopped && (n = recv(fd, buf, STREAM, MSG_WAITALL | flags)) > 0;) {
		double t = now();
		if (t < start)
			continue;
		if (last > 0 && t - last > pause)
			pause = t - last;
		last = t;
		bytes += n;
	}
	printf("%.0f %.9f\n", bytes * 8 / (now() - start), pause);
}

static void tcp_recv(char **argv) { receive(argv, 0); }

/* The kernel discards the bytes: tcp(7). */
static void tcp_discard(char **argv) { receive(argv, MSG_TRUNC); }

/* tcp_send writes whole buffers, and leaves the size of the send buffer to the kernel. The
 * memory has been written to, as that of all programs with something to send: the kernel's
 * one page of zeros, read again and again, would be 3 % faster. */
static void tcp_send(char **argv) {
	int fd = sock(SOCK_STREAM, argv, 0);
	memset(buf, 1, STREAM);
	for (double end = now() + atof(argv[4]); now() < end;)
		if (send(fd, buf, STREAM, 0) < 0)
			die("send");
}

/* tcp_sendfile sends written pages: those of a hole would all be the kernel's one page of zeros. */
static void tcp_sendfile(char **argv) {
	int fd = sock(SOCK_STREAM, argv, 0), file = memfd_create("limit", 0);
	memset(buf, 1, STREAM);
	if (file < 0 || write(file, buf, STREAM) != STREAM)
		die("memfd_create");
	off_t at = 0;
	for (double end = now() + atof(argv[4]); now() < end; at %= STREAM)
		if (sendfile(fd, file, &at, STREAM - at) < 0)
			die("sendfile");
}

/* tcp_zerocopy reads the kernel's notices that it needs the memory no longer, once in 32 sends and
 * when there is no room for more, and does not look at them: nobody writes to the buffer again. */
static void tcp_zerocopy(char **argv) {
	int fd = sock(SOCK_STREAM, argv, 0), one = 1;
	if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one))
		die("SO_ZEROCOPY");
	memset(buf, 1, STREAM);
	char control[256];
	long n = 0;
	for (double end = now() + atof(argv[4]); now() < end;) {
		int full = send(fd, buf, STREAM, MSG_ZEROCOPY) < 0;
		if (full && errno != ENOBUFS)
			die("send");
		if (full)
			poll(&(struct pollfd){.fd = fd}, 1, 100);
		else if (++n & 31)
			continue;
		struct msghdr m = {.msg_control = control};
		do
			m.msg_controllen = sizeof control;
		while (recvmsg(fd, &m, MSG_ERRQUEUE) >= 0);
	}
}

/* udp_recv blocks, one call per datagram, without the sender's address. It checks nothing
 * and reads the clock once in 1024 datagrams. */
static void udp_recv(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 1);
	double first = 0, last = 0;
	long n = 0;
	while (!stopped) {
		if (recv(fd, buf, SIZE, 0) < 0)
			continue;
		if (n++ == 0)
			first = now();
		if ((n & 1023) == 0)
			last = now();
	}
	printf("%.0f\n", n > 2048 ? n / (last - first) : 0);
}

/* nap reads up to n messages of a slot's size per call, and sleeps for so many us when there are none, as
 * the engine's receiver does: the sender need not wake it for every message. With turns, it sleeps and
 * waits for a message in turn: docs/adr/0062. It reads the clock once per call, and returns the seconds
 * between its first and its last call with messages after the warm-up. */
static double nap(int fd, double warmup, long us, int turns, int n, size_t slot, double *messages, double *bytes) {
	struct mmsghdr m[32];
	struct iovec v[32];
	struct timespec t = {0, us * 1000};
	double start = 0, first = 0, last = 0;
	int napped = 0;
	memset(m, 0, sizeof m);
	for (int i = 0; i < n; i++) {
		v[i] = (struct iovec){buf + i * slot, slot};
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	while (!stopped) {
		int got = recvmmsg(fd, m, n, MSG_DONTWAIT, NULL);
		if (got < 0 && turns && napped) {
			napped = 0;
			got = recvmmsg(fd, m, n, MSG_WAITFORONE, NULL);
		}
		if (got < 0) {
			napped = 1;
			nanosleep(&t, NULL);
			continue;
		}
		last = now();
		if (start == 0)
			start = last + warmup;
		if (last < start)
			continue;
		if (first == 0)
			first = last;
		*messages += got;
		for (int i = 0; i < got; i++)
			*bytes += m[i].msg_len;
	}
	return last - first;
}

static void udp_nap(char **argv) {
	double messages = 0, bytes = 0, took = nap(sock(SOCK_DGRAM, argv, 1), 0, 50, 0, 32, 2048, &messages, &bytes);
	printf("%.0f\n", messages > 2048 ? messages / took : 0);
}

/* gso_recv reads 8 messages of up to 64 KiB per call, so that they are still in the cache when
 * a program looks at them. It does not count datagrams. */
static void gso_recv(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 1), one = 1;
	if (setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof one))
		die("UDP_GRO");
	double messages = 0, bytes = 0, took = nap(fd, atof(argv[4]), 200, 1, 8, (64 << 10) + 320, &messages, &bytes);
	printf("%.0f\n", messages > 2048 ? bytes * 8 / took : 0);
}

/* udp_send is connected, which saves a route lookup per datagram, and reads the clock once
 * in 64 datagrams. It does not batch: batches are another mode. */
static void udp_send(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 0), size = atoi(argv[5]);
	long i = 0;
	for (double end = now() + atof(argv[4]); (++i & 63) || now() < end;)
		if (send(fd, buf, size, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("send");
}

/* mmsg_send saves system calls; the kernel still sends one datagram after the other. */
static void mmsg_send(char **argv) {
	enum { N = 32 };
	int fd = sock(SOCK_DGRAM, argv, 0), size = atoi(argv[5]);
	struct mmsghdr m[N];
	struct iovec v[N];
	memset(m, 0, sizeof m);
	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){buf + i * size, size};
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	for (double end = now() + atof(argv[4]); now() < end;)
		if (sendmmsg(fd, m, N, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("sendmmsg");
}

struct frame {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	char data[];
} __attribute__((packed));

/* fill makes f the frame of a datagram of size bytes to the peer of a socket, without a checksum of its data
 * (RFC 768), and returns the index of the device that it leaves through. */
static int fill(struct frame *f, int udp, struct sockaddr_in to, int size) {
	struct sockaddr_in from, discard = to;
	socklen_t len = sizeof from;
	struct ifaddrs *addrs, *a;
	if (getsockname(udp, (void *)&from, &len) || getifaddrs(&addrs))
		die("own address");
	for (a = addrs; a; a = a->ifa_next)
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
		    ((struct sockaddr_in *)a->ifa_addr)->sin_addr.s_addr == from.sin_addr.s_addr)
			break;
	if (!a)
		die("own device");
	struct ifreq dev = {0};
	struct arpreq peer = {0};
	strncpy(dev.ifr_name, a->ifa_name, IFNAMSIZ - 1);
	strncpy(peer.arp_dev, a->ifa_name, sizeof peer.arp_dev - 1);
	freeifaddrs(addrs);
	memcpy(&peer.arp_pa, &to, sizeof to);
	/* A datagram to the port that discards (RFC 863) makes the kernel look for the neighbor. */
	discard.sin_port = htons(9);
	sendto(udp, buf, 1, 0, (void *)&discard, sizeof discard);
	for (int tries = 0; ioctl(udp, SIOCGARP, &peer) || !(peer.arp_flags & ATF_COM); usleep(1000))
		if (++tries == 1000)
			die("address of the neighbor");
	if (ioctl(udp, SIOCGIFHWADDR, &dev))
		die("SIOCGIFHWADDR");
	memcpy(f->eth.h_dest, peer.arp_ha.sa_data, ETH_ALEN);
	memcpy(f->eth.h_source, dev.ifr_hwaddr.sa_data, ETH_ALEN);
	f->eth.h_proto = htons(ETH_P_IP);
	f->ip = (struct iphdr){.version = 4, .ihl = 5, .tot_len = htons(28 + size), .frag_off = htons(IP_DF), .ttl = 64,
	                       .protocol = IPPROTO_UDP, .saddr = from.sin_addr.s_addr, .daddr = to.sin_addr.s_addr};
	uint16_t word[10];
	memcpy(word, &f->ip, sizeof word);
	uint32_t sum = 0;
	for (int i = 0; i < 10; i++)
		sum += word[i];
	f->ip.check = ~((sum & 0xffff) + (sum >> 16));
	f->udp = (struct udphdr){.source = from.sin_port, .dest = to.sin_port, .len = htons(8 + size)};
	if (ioctl(udp, SIOCGIFINDEX, &dev))
		die("SIOCGIFINDEX");
	return dev.ifr_ifindex;
}

/* A ring of an AF_XDP socket: Documentation/networking/af_xdp.rst. */
struct ring {
	_Atomic uint32_t *producer, *consumer;
	void *entries;
};

static struct ring map(int fd, off_t at, struct xdp_ring_offset off, int entries, size_t size) {
	char *m = mmap(NULL, off.desc + entries * size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, at);
	if (m == MAP_FAILED)
		die("map a ring");
	return (struct ring){(void *)(m + off.producer), (void *)(m + off.consumer), m + off.desc};
}

/* xdp_send gives one frame to the device again and again: the kernel copies it. All entries of the ring
 * are the same and stay, so only its end moves. The kernel sends at most 32 frames per call, and wants
 * a ring to receive into even from sockets that only send. It frees the device's queue some time after
 * the last socket of it is closed. */
static void xdp_send(char **argv) {
	enum { N = 32, DONE = 2048 };
	int udp = sock(SOCK_DGRAM, argv, 0), fd = socket(AF_XDP, SOCK_RAW, 0), size = atoi(argv[5]), two = 2, n = N, done = DONE;
	int dev = fill((struct frame *)pages, udp, at(argv), size);
	struct xdp_umem_reg mem = {.addr = (uintptr_t)pages, .len = 4096, .chunk_size = 4096};
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof off;
	if (fd < 0 || setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &mem, sizeof mem) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &two, sizeof two) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &done, sizeof done) ||
	    setsockopt(fd, SOL_XDP, XDP_TX_RING, &n, sizeof n) || getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		die("AF_XDP");
	struct ring tx = map(fd, XDP_PGOFF_TX_RING, off.tx, N, sizeof(struct xdp_desc));
	struct ring sent = map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, off.cr, DONE, sizeof(uint64_t));
	for (int i = 0; i < N; i++)
		((struct xdp_desc *)tx.entries)[i] = (struct xdp_desc){.len = sizeof(struct frame) + size};
	struct sockaddr_xdp to = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY, .sxdp_ifindex = dev};
	for (int tries = 0; bind(fd, (void *)&to, sizeof to); usleep(1000))
		if (errno != EBUSY || ++tries == 1000)
			die("bind to queue 0");
	for (double end = now() + atof(argv[4]); now() < end;) {
		*sent.consumer = *sent.producer;
		*tx.producer = *tx.consumer + N;
		if (sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != ENOBUFS && errno != EBUSY && errno != EAGAIN)
			die("sendto");
	}
}

/* gso_send hands the kernel as many datagrams as fit into 65507 bytes, and at most 64, the smallest
 * UDP_MAX_SEGMENTS of any kernel. It does not number them. */
static void gso_send(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 0), size = atoi(argv[5]), n = size * (65507 / size < 64 ? 65507 / size : 64);
	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size))
		die("UDP_SEGMENT");
	memset(buf, 1, n);
	for (double end = now() + atof(argv[4]); now() < end;)
		if (send(fd, buf, n, 0) < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
			die("send");
}

/* answer answers whoever asked; it does not look at the datagram. */
static void answer(char **argv, int flags) {
	int fd = sock(SOCK_DGRAM, argv, 1);
	struct sockaddr_in from;
	while (!stopped) {
		socklen_t len = sizeof from;
		ssize_t n = recvfrom(fd, buf, SIZE, flags, (void *)&from, &len);
		if (n >= 0)
			sendto(fd, buf, n, 0, (void *)&from, len);
	}
}

static void rr_serve(char **argv) {
	stay(0);
	answer(argv, MSG_DONTWAIT);
}

static void wait_serve(char **argv) { answer(argv, 0); }

/* rr_ask only counts: no response times, no check that a reply answers the last request.
 * It reads the clock once in 64 replies or empty reads, and hangs on a lost reply. */
static void rr_ask(char **argv) {
	int fd = sock(SOCK_DGRAM, argv, 0);
	stay(1);
	double start = now(), end = start + atof(argv[4]);
	long n = 0;
	for (long polls = 0; (n & 63) || now() < end; n++) {
		if (send(fd, buf, 64, 0) < 0)
			die("send");
		while (recv(fd, buf, SIZE, MSG_DONTWAIT) < 0)
			if ((++polls & 63) == 0 && now() > end)
				goto out;
	}
out:
	printf("%.0f\n", n / (now() - start));
}

static uint32_t times[64 * 128]; /* a histogram in steps of 1/128, ns */
static uint64_t longest, paused; /* ns */

/* quantile returns the middle, in seconds, of the step that holds the share q of the n times. */
static double quantile(double q, uint64_t n) {
	uint64_t seen = 0;
	int i = 0;
	while (i < 64 * 128 - 1 && (seen += times[i]) <= q * n)
		i++;
	int shift = i < 256 ? 0 : i / 128 - 1;
	return ((i - shift * 128 + 0.5) * (1ull << shift)) / 1e9;
}

/* record keeps a response time. */
static void record(uint64_t took) {
	int shift = took < 128 ? 0 : 56 - __builtin_clzll(took);
	times[shift * 128 + (took >> shift)]++;
	longest = took > longest ? took : longest;
	paused += took > 100000 ? took : 0;
}

static void report(uint64_t n, double elapsed) {
	printf("%.0f %.9f %.9f %.9f %.9f\n", n / elapsed, longest / 1e9, paused / 1e9 / elapsed, quantile(0.5, n), quantile(0.999, n));
}

/* measure does what a measurement needs: it numbers requests, accepts only the reply to the
 * last one, and keeps a histogram of response times. One clock reading per
 * reply ends a response time and begins the next. The last response time is recorded while the
 * next request is under way. It leaves out what the engine also does: losses, requests in
 * flight, kernel stamps, a second histogram, cancellation, progress. */
static void measure(int type, char **argv, int flags) {
	int fd = sock(type, argv, 0);
	struct timeval tick = {0, 100000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
	uint64_t t = clock_ns(), start = t, end = t + (uint64_t)(atof(argv[4]) * 1e9), n = 0, seq, took = 0, polls = 0;
	while (t < end) {
		memcpy(buf, &n, sizeof n);
		if (send(fd, buf, 64, 0) < 0)
			die("send");
		if (n > 0)
			record(took);
		for (;;) {
			if (recv(fd, buf, 64, flags) == 64) {
				memcpy(&seq, buf, sizeof seq);
				if (seq == n)
					break;
			}
			if ((flags == 0 || (++polls & 63) == 0) && now() * 1e9 > end)
				goto out;
		}
		uint64_t read = clock_ns();
		took = read - t;
		t = read;
		n++;
	}
out:
	report(n, now() - start / 1e9);
}

static void rr_measure(char **argv) {
	stay(1);
	measure(SOCK_DGRAM, argv, MSG_DONTWAIT);
}

static void wait_measure(char **argv) { measure(SOCK_DGRAM, argv, 0); }

static void tcp_measure(char **argv) { measure(SOCK_STREAM, argv, 0); }

/* converse accepts connections, and answers so many requests of each before it closes it. */
static void converse(char **argv, long most) {
	int l = sock(SOCK_STREAM, argv, 1);
	if (listen(l, 8))
		die("listen");
	while (!stopped) {
		int fd = accept(l, NULL, NULL);
		for (long i = 0; fd >= 0 && i < most && recv(fd, buf, 64, MSG_WAITALL) == 64; i++)
			send(fd, buf, 64, MSG_NOSIGNAL);
		if (fd >= 0)
			close(fd);
	}
}

static void tcp_serve(char **argv) { converse(argv, LONG_MAX); }

static void crr_serve(char **argv) { converse(argv, 1); }

/* crr_measure uses 128 ports in turn, as the engine does, and for the same reason: internal/engine/crr.go.
 * The server closes first, so they are free again. The time of a transaction ends with the reply. */
static void crr_measure(char **argv) {
	enum { PORTS = 128 };
	struct sockaddr_in to = at(argv), from[PORTS];
	int fds[PORTS], udp = sock(SOCK_DGRAM, argv, 0);
	socklen_t len = sizeof *from;
	if (getsockname(udp, (void *)from, &len))
		die("own address");
	for (int i = 0; i < PORTS; i++) {
		from[i] = *from;
		from[i].sin_port = 0;
		if ((fds[i] = socket(AF_INET, SOCK_STREAM, 0)) < 0 || bind(fds[i], (void *)&from[i], len) ||
		    getsockname(fds[i], (void *)&from[i], &len))
			die("ports");
	}
	for (int i = 0; i < PORTS; i++)
		close(fds[i]);
	double begin = now(), end = begin + atof(argv[4]);
	uint64_t n = 0;
	for (; now() < end; n++) {
		int fd = unbound(SOCK_STREAM);
		if (bind(fd, (void *)&from[n % PORTS], len))
			die("bind");
		uint64_t start = clock_ns();
		if (connect(fd, (void *)&to, sizeof to) || send(fd, buf, 64, 0) != 64 || recv(fd, buf, 64, MSG_WAITALL) != 64)
			die("transaction");
		record(clock_ns() - start);
		if (recv(fd, buf, 64, 0) != 0)
			die("close");
		close(fd);
	}
	report(n, now() - begin);
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		int args;
		void (*run)(char **);
	} modes[] = {{"tcp-recv", 5, tcp_recv}, {"tcp-discard", 5, tcp_discard}, {"tcp-send", 5, tcp_send},
	             {"tcp-sendfile", 5, tcp_sendfile}, {"tcp-zerocopy", 5, tcp_zerocopy}, {"udp-recv", 4, udp_recv},
	             {"udp-nap", 4, udp_nap},
	             {"udp-send", 6, udp_send}, {"mmsg-send", 6, mmsg_send}, {"gso-recv", 5, gso_recv},
	             {"gso-send", 6, gso_send}, {"rr-serve", 4, rr_serve}, {"rr-ask", 5, rr_ask},
	             {"rr-measure", 5, rr_measure}, {"wait-serve", 4, wait_serve},
	             {"wait-measure", 5, wait_measure}, {"tcp-serve", 4, tcp_serve},
	             {"tcp-measure", 5, tcp_measure}, {"crr-serve", 4, crr_serve}, {"crr-measure", 5, crr_measure},
	             {"xdp-send", 6, xdp_send}};
	struct sigaction a = {.sa_handler = stop}; /* without SA_RESTART: recv returns */
	sigaction(SIGTERM, &a, NULL);
	for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++)
		if (argc == modes[i].args && !strcmp(argv[1], modes[i].name)) {
			modes[i].run(argv);
			return 0;
		}
	fprintf(stderr, "usage: see the head of limit.c\n");
	return 2;
}
