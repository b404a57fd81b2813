package record

import (
	"slices"
	"strings"
)

// A Quantity is what a number measures. Its ID is stored with every value and never says what the number is
// about: About does. Programs compare IDs and never take them apart; a dot in an ID separates nothing.
type Quantity string

// A Direction says which numbers of a quantity are better for the user of a network.
type Direction int

const (
	Neither Direction = iota // a description, or a condition
	Higher
	Lower
)

// A Definition is a line of the vocabulary.
type Definition struct {
	ID      Quantity
	Unit    string // base unit; "" where the value's own unit says what its probe counts
	Better  Direction
	Word    string // in a sentence, in English
	Chinese string
	Doc     string // one sentence
}

var (
	definitions []Definition
	defined     = map[Quantity]int{} // index in definitions
)

func define(id Quantity, unit string, better Direction, word, chinese, doc string) Quantity {
	defined[id] = len(definitions)
	definitions = append(definitions, Definition{id, unit, better, word, chinese, doc})
	return id
}

// Quantities returns the vocabulary in the order of docs/values.md.
func Quantities() []Definition { return slices.Clone(definitions) }

// Defined returns the definition of q; false for an ID of another program, such as a newer weir.
func (q Quantity) Defined() (Definition, bool) {
	if i, ok := defined[q]; ok {
		return definitions[i], true
	}
	return Definition{ID: q, Word: string(q), Chinese: string(q)}, false
}

// LowerIsBetter reports whether smaller numbers of q are better for the user of a network. The unit decides where
// q says nothing: times and costs are better small.
func (q Quantity) LowerIsBetter(unit string) bool {
	if d, _ := q.Defined(); d.Better != Neither {
		return d.Better == Lower
	}
	return unit == "s" || unit == "core" || strings.HasPrefix(unit, "s/")
}

// ResponseTime reports whether q is a time of answered requests, which a trial without an answer lacks.
func (q Quantity) ResponseTime() bool {
	return q.In(RTT, RTTP99, RTTP999, RTTPlain, RTTMin, RTTMean, RTTMax, RTTMdev, RTTPath, RTTWake, RTTApp, RTTStamped, RTTConnect, RTTHandshake)
}

// In reports whether q is one of several.
func (q Quantity) In(some ...Quantity) bool { return slices.Contains(some, q) }

// What a probe moved. The first value of a trial is its probe's metric.
var (
	Throughput   = define("throughput", "bit/s", Higher, "throughput", "吞吐量", "Payload that arrived at the receiving program, per second of the window.")
	PacketRate   = define("packet.rate", "packet/s", Higher, "packet rate", "包速率", "Datagrams that arrived at the receiving program; over TCP, packets that the receiver's device counted, which offloads make of many segments.")
	Offered      = define("offered", "packet/s", Neither, "offered rate", "发送请求速率", "Datagrams that the sender handed to its socket, including those that the kernel refused.")
	Sent         = define("sent", "packet/s", Neither, "sent rate", "发送速率", "Datagrams that the sender's kernel accepted.")
	Received     = define("received", "packet/s", Neither, "received rate", "接收速率", "Datagrams that reached the receiver's socket, including those that its full buffer dropped.")
	Delivered    = define("delivered", "packet/s", Higher, "delivered rate", "送达速率", "Datagrams that the receiving program read.")
	Transactions = define("transactions", "1/s", Higher, "transactions", "事务数", "Requests that were answered, per second.")
	Requests     = define("requests", "1", Neither, "requests", "请求数", "Requests that were sent in the window.")
	Capacity     = define("capacity", "packet/s", Higher, "capacity", "容量", "The highest rate that the path carried with at most the loss asked for.")
	CapacityOver = define("capacity.upper", "packet/s", Neither, "capacity upper bound", "容量上界", "The lowest rate above capacity that lost more than asked for.")
	CapacityBack = define("capacity.inverted", "packet/s", Neither, "capacity inverted", "容量反转", "A rate below one that was carried, and that lost more than asked for: the loss does not rise with the rate.")
	ThroughputAt = define("throughput.conditional", "packet/s", Higher, "conditional throughput", "条件吞吐量", "What a search for a goal on loss found, as MLRsearch defines it: the relevant lower bound, less the loss of its trials.")
	BoundLower   = define("bound.lower", "packet/s", Neither, "relevant lower bound", "相关下界", "The highest rate below the relevant upper bound that kept to the goal on loss, as MLRsearch defines it.")
	BoundUpper   = define("bound.upper", "packet/s", Neither, "relevant upper bound", "相关上界", "The lowest rate that did not keep to the goal on loss, as MLRsearch defines it.")
	Goodput      = define("goodput", "bit/s", Higher, "goodput", "有效吞吐量", "Payload that arrived at the capacity, per second.")
	Bandwidth    = define("bandwidth", "bit/s", Higher, "bandwidth", "带宽", "Payload per second by the tool's own definition.")
	Upload       = define("upload", "bit/s", Higher, "upload", "上传", "Payload per second from the client to the server, as the server counts it.")
	DownloadSent = define("download.sent", "bit/s", Neither, "sent download", "下载发送速率", "Payload per second from the server to the client, as the server counts what it sent.")
	Window       = define("window", "s", Neither, "window", "测量窗口", "Length of the measured window.")
	Late         = define("late", "1", Lower, "late requests", "迟发请求占比", "Share of the requests of an open loop that the sender sent late, or left out because they were late.")
	Stalls       = define("stalls", "1", Lower, "stalls", "停顿", "Times at which an open loop had no free slot for a request.")
)

// What was lost, sent again or came out of order.
var (
	Loss             = define("loss", "1", Lower, "loss", "丢包", "Share of the sent datagrams or requests that did not arrive, or were not answered in time.")
	LossSocket       = define("loss.socket", "1", Lower, "loss at the socket", "套接字处的丢失率", "Share of the sent datagrams that reached the receiver's socket and found its buffer full.")
	Reordered        = define("reordered", "1", Lower, "reordered", "乱序率", "Share of the delivered datagrams that came after a later one.")
	Duplicated       = define("duplicated", "1", Lower, "duplicated", "重复率", "Share of the delivered datagrams that arrived again; further copies are not delivered.")
	Jitter           = define("jitter", "s", Lower, "jitter", "抖动", "Variation of the transit time of datagrams (RFC 3550, 6.4.1).")
	Silence          = define("silence", "s", Lower, "silence", "最长静默", "The longest time in the window in which nothing arrived.")
	Retransmits      = define("retransmits", "1", Lower, "retransmits", "重传数", "Segments that the sender sent again.")
	TCPRetransmitted = define("tcp.retransmitted", "1", Lower, "retransmitted segments", "重传的报文段", "Segments that both ends of the connection sent again.")
	TCPTimeouts      = define("tcp.timeouts", "1", Lower, "retransmission timeouts", "重传超时次数", "Times that an end's retransmission timer fired (tcpi_total_rto, Linux 6.7).")
	TCPTimeoutTime   = define("tcp.timeouts.time", "s", Lower, "time in retransmission timeouts", "重传超时时间", "Time from an end's first retransmission timeout until the connection went on, of all such episodes that ended (tcpi_total_rto_time, Linux 6.7).")
	TCPRwndLimited   = define("tcp.rwnd.limited", "1", Neither, "held back by the receiver's window", "受接收窗口限制", "Share of the time with data to send in which the receiver's window held the sender back (tcpi_rwnd_limited).")
	TCPSndbufLimited = define("tcp.sndbuf.limited", "1", Neither, "held back by the send buffer", "受发送缓冲限制", "Share of the time with data to send in which the send buffer held the sender back (tcpi_sndbuf_limited).")
)

// When nothing was delivered. With an end, of the way to that end; otherwise of the round trip.
var (
	Outage       = define("outage", "s", Lower, "outage", "中断时间", "The longest time in the window in which the path delivered nothing of what was sent, unless the sender or the server's program paused; 0 if none was longer than 1 ms and than three intervals.")
	OutagesTotal = define("outages.total", "s", Lower, "outages together", "中断总时间", "The sum of all such times in the window.")
	Outages      = define("outages", "1", Lower, "outages", "中断次数", "How many such times there were.")
	LostRequests = define("lost", "1", Lower, "lost requests", "丢失的请求", "Requests of the window that were not answered; with an end, those of which the request or the answer was lost on the way to it.")
	Broken       = define("broken", "1", Lower, "broken connections", "断开的连接", "Connections that ended with an error too early: an open one before the window did, a new one without its answer, unless it was refused or reset.")
	Refused      = define("connects.refused", "1", Lower, "refused connections", "被拒绝的连接", "New connections that were refused (ECONNREFUSED).")
	Reset        = define("connects.reset", "1", Lower, "reset connections", "被重置的连接", "New connections that were reset before their answer came (ECONNRESET).")
	SlowConnects = define("connects.slow", "1", Lower, "slow connections", "缓慢的连接", "New connections whose answer took a second or more, as it does when the first packet is lost and sent again (RFC 6298).")
	Pause        = define("pause", "s", Neither, "pause of the program", "程序停顿", "The longest time in which the client sent nothing, or in which a request waited for the server's program for longer than 1 ms: neither counts as an outage.")
)

// Response times.
var (
	RTT          = define("rtt", "s", Lower, "response time", "响应时间", "Median time from sending a request to its answer.")
	RTTP99       = define("rtt.p99", "s", Lower, "99th percentile of response times", "响应时间的 99 百分位", "Of 100 response times, one is longer; missing with fewer than ten above it.")
	RTTP999      = define("rtt.p999", "s", Lower, "99.9th percentile of response times", "响应时间的 99.9 百分位", "Of 1000 response times, one is longer; missing with fewer than ten above it.")
	RTTPlain     = define("rtt.plain", "s", Lower, "response time without stamps", "未打时间戳请求的响应时间", "Median over the requests whose packets carried no timestamps.")
	RTTMin       = define("rtt.min", "s", Lower, "shortest response time", "最短响应时间", "The shortest response time.")
	RTTMean      = define("rtt.mean", "s", Lower, "mean response time", "平均响应时间", "The mean response time.")
	RTTMax       = define("rtt.max", "s", Lower, "longest response time", "最长响应时间", "The longest response time.")
	RTTMdev      = define("rtt.mdev", "s", Lower, "standard deviation of response times", "响应时间的标准差", "Standard deviation of the response times, as ping(8) prints it.")
	RTTPath      = define("rtt.path", "s", Lower, "network path", "网络路径", "Part of a response time between the devices of both ends, both ways, by kernel timestamps.")
	RTTWake      = define("rtt.wake", "s", Lower, "wake-up", "唤醒", "Part of a response time from a packet's arrival in the namespace until the program has it, at both ends.")
	RTTApp       = define("rtt.app", "s", Lower, "programs", "程序", "Part of a response time in the programs, and in sending down to the device.")
	RTTStamped   = define("rtt.stamped", "s", Lower, "response time with stamps", "打时间戳请求的响应时间", "Median over the requests whose packets carried timestamps; the parts add up to it.")
	RTTConnect   = define("rtt.connect", "s", Lower, "connect time", "建立连接的时间", "Part of a response time until the connection is established.")
	RTTHandshake = define("rtt.handshake", "s", Lower, "TLS handshake", "TLS 握手时间", "Part of a response time from then on until TLS is established.")
	RTTPauses    = define("rtt.pauses", "1", Lower, "time in pauses", "停顿时间占比", "Share of the window in response times that are far longer than the others.")
	HalfRTT      = define("half.rtt", "s", Lower, "half RTT", "半程 RTT", "Half of the round trip, as MPI's latency tests define their latency.")
)

// CPU time. Cores are seconds of CPU time per second of the window.
var (
	CPUPerPacket         = define("cpu.per.packet", "s/packet", Lower, "CPU time per packet", "每包 CPU 时间", "Time in which the CPUs of both ends' machines were not idle, beyond their idle use, per packet of packet.rate.")
	CPUPerTransaction    = define("cpu.per.transaction", "s/transaction", Lower, "CPU time per transaction", "每次事务的 CPU 时间", "The same per transaction.")
	CPUPerBit            = define("cpu.per.bit", "s/bit", Lower, "CPU time per bit", "每比特 CPU 时间", "The same per bit of throughput.")
	CPUOwnPerPacket      = define("cpu.own.per.packet", "s/packet", Lower, "own CPU time per packet", "每包自身 CPU 时间", "CPU time of the ends' own threads, by their clocks: the sender's per datagram sent, the receiver's per datagram received; over TCP, per packet of packet.rate.")
	CPUOwnPerTransaction = define("cpu.own.per.transaction", "s/transaction", Lower, "own CPU time per transaction", "每次事务的自身 CPU 时间", "The same per transaction.")
	CPUOwnPerBit         = define("cpu.own.per.bit", "s/bit", Lower, "own CPU time per bit", "每比特自身 CPU 时间", "The same per bit of throughput.")
	CPUOwn               = define("cpu.own", "core", Neither, "the ends' own threads", "两端自身线程", "CPU time of the engine's threads at both ends, by their clocks, softirqs on top included; with an end, of that end.")
	CPUWait              = define("cpu.wait", "core", Neither, "waits for a CPU", "等待 CPU", "Time in which an end's threads were runnable and waited for a CPU.")
	CPUTool              = define("cpu.tool", "core", Neither, "CPU time by the tool", "工具自报的 CPU 时间", "CPU time of an end as a foreign tool reports it.")
	CPUProgram           = define("cpu.program", "core", Neither, "CPU time of a program", "程序的 CPU 时间", "CPU time of a program of the network, all its processes and threads together, or of one thread where it is named.")
	CPUThread            = define("cpu.thread", "core", Neither, "CPU time of a thread", "线程的 CPU 时间", "Share of one CPU that a thread used in the window; of threads of one name in one place, the busiest.")
	CPUBusy              = define("cpu.busy", "core", Neither, "busy CPUs", "忙碌的 CPU", "Sum of the modes of /proc/stat beyond idle use, stolen time excepted.")
	CPUUser              = define("cpu.user", "core", Neither, "user", "user", "Time of programs (proc_stat(5)).")
	CPUSystem            = define("cpu.system", "core", Neither, "system", "system", "Time of the kernel for programs.")
	CPUSoftirq           = define("cpu.softirq", "core", Neither, "softirq", "软中断", "Time of softirqs, such as receiving.")
	CPUIRQ               = define("cpu.irq", "core", Neither, "irq", "irq", "Time of interrupts.")
	CPUGuest             = define("cpu.guest", "core", Neither, "guest", "guest", "Time of guests' CPUs.")
	CPUSteal             = define("cpu.steal", "core", Neither, "stolen time", "被窃取的时间", "Time that the hypervisor gave to others, beyond idle use.")
	CPUSoftirqBusiest    = define("cpu.softirq.busiest", "core", Neither, "softirq of the busiest CPU", "最忙 CPU 的 softirq", "Softirq time of the CPU that has most of it.")
	CPUWeir              = define("cpu.weir", "core", Neither, "weir itself", "weir 自身", "CPU time of the processes that measure, which busy time includes.")
	CPUIdleBaseline      = define("cpu.idle-baseline", "core", Neither, "idle use", "空闲占用", "Busy time of the machines while nothing is measured.")
	CPUUsed              = define("cpu.used", "core", Neither, "used CPUs", "已用 CPU", "Time in which the CPUs were not idle, idle use included: the complement of idle and iowait.")
	CPUUsedBaseline      = define("cpu.used.baseline", "core", Neither, "idle use of used CPUs", "已用 CPU 的空闲占用", "The same while nothing is measured.")
	CPUAccounted         = define("cpu.accounted", "1", Neither, "accounted time", "已计入的时间", "Sum of all modes of /proc/stat ÷ the time of all CPUs.")
	CPUs                 = define("cpus", "core", Neither, "CPUs", "CPU 数", "Number of online CPUs of the ends' machines.")
	CPUFrequency         = define("cpu.frequency", "Hz", Neither, "clock frequency", "时钟频率", "Mean clock frequency of the CPUs.")
	CoreToCore           = define("core-to-core", "s", Neither, "distance of the CPUs", "CPU 间距离", "Time in which one CPU sees what another wrote, before the traffic.")
	CoreToCoreAfter      = define("core-to-core.after", "s", Neither, "distance of the CPUs afterwards", "之后的 CPU 间距离", "The same after the traffic.")
	OthersUser           = define("others.user", "core", Neither, "others in user mode", "其他程序（用户态）", "CPU time of programs outside the run in user mode, from before the client to after it.")
	OthersSystem         = define("others.system", "core", Neither, "others in the kernel", "其他程序（内核态）", "CPU time of programs outside the run in the kernel: a lower bound of what is not the trial's.")
	SoftirqRx            = define("softirq.net_rx", "1/s", Neither, "receiving softirqs", "接收 softirq", "NET_RX softirqs per second, both machines together.")
	SoftirqTx            = define("softirq.net_tx", "1/s", Neither, "sending softirqs", "发送 softirq", "NET_TX softirqs per second, both machines together.")
)

// Packets on devices.
var (
	RxCPUs            = define("rx.cpus", "1", Neither, "CPUs that receive", "接收的 CPU 数", "All received packets ÷ those of the busiest CPU: 1 if one CPU processed all, 2 if two shared them equally.")
	RPSRate           = define("rps.rate", "1/s", Neither, "steered wake-ups", "RPS 唤醒速率", "Times per second that a CPU was woken because another had given it packets.")
	SizeMean          = define("size.mean", "byte", Neither, "mean size of answers", "应答的平均大小", "Mean size of the answers' bodies, where the study has a distribution of them.")
	PacketSize        = define("packet.size", "byte", Neither, "packet size", "包长", "Mean size of the data's packets on the receiver's device, with headers, before segmentation.")
	PacketSizePath    = define("packet.size.path", "byte", Neither, "smallest packet size on the path", "路径上最小的包大小", "Smallest mean size of packets on the devices of the path: one that is whole there was never cut.")
	FragmentsSent     = define("fragments.sent", "1", Neither, "fragments sent", "发送的分片", "IP fragments that the sender made.")
	FragmentsReceived = define("fragments.received", "1", Neither, "fragments received", "收到的分片", "IP fragments that reached the receiver.")
	FragmentsFailed   = define("fragments.failed", "1", Lower, "fragments not reassembled", "未能重组的分片", "Packets whose fragments the receiver could not join.")
	FragmentsWaiting  = define("fragments.waiting", "byte", Neither, "memory of waiting fragments", "等待重组的分片所占内存", "Memory of fragments that waited for others at the end.")
)

// Background of a trial, and the emulated distance.
var (
	LoadDelivered    = define("load.delivered", "", Neither, "delivered load", "背景流量送达量", "What the background traffic delivered, in its probe's unit.")
	LoadAsked        = define("load.asked", "", Neither, "asked load", "要求的背景流量", "The rate that the background traffic was asked for.")
	LoadCapacity     = define("load.capacity", "", Neither, "capacity of the load", "背景流量的容量", "The capacity of which the background traffic is a share.")
	StressTaken      = define("stress.taken", "1", Neither, "CPU load", "CPU 负载", "Share of all CPUs that the stated CPU load took; of the server's machine with an end.")
	ClientsDelivered = define("clients.delivered", "", Higher, "delivered by all clients", "全部客户端送达量", "What all clients delivered together.")
	ClientsLeast     = define("clients.least", "1", Neither, "smallest share of a client", "最小的客户端份额", "Smallest share of a client in what all delivered.")
	ClientsMost      = define("clients.most", "1", Neither, "largest share of a client", "最大的客户端份额", "Largest share of a client in what all delivered.")
	DelayRTT         = define("delay.rtt", "s", Neither, "delay there and back", "往返延迟", "Time of a packet and its answer over the emulated distance before the trial.")
	DelayPackets     = define("delay.packets", "1", Neither, "delayed packets", "被延迟的包", "Packets that the emulator delayed.")
	DelayLost        = define("delay.lost", "1", Neither, "packets lost on purpose", "有意丢弃的包", "Packets that the emulator dropped, as the stated loss asks for.")
	DelayDropped     = define("delay.dropped", "1", Lower, "packets without room", "无空间的包", "Packets that the emulator dropped because its queue was full.")
	DelayLate        = define("delay.late", "s", Lower, "lateness of the delay", "延迟的误差", "99th percentile of how much later than stated packets left the emulator.")
	DelayLateMax     = define("delay.late.max", "s", Lower, "longest lateness of the delay", "延迟的最大误差", "The largest of them.")
	DelayBusy        = define("delay.busy", "1", Neither, "CPU of the delay program", "延迟程序的 CPU", "Share of one CPU that the emulator's thread used.")
)

// An event within a trial, and how the outage that it caused relates to it. The clock is that of the machine.
var (
	EventLasted = define("event.lasted", "s", Neither, "duration of the event", "事件持续时间", "From the start of the event until it was undone.")
	OutageDelay = define("outage.delay", "s", Neither, "time to the outage", "中断前的时间", "From the start of the event until the last arrival before the outage.")
	Noticed     = define("event.noticed", "s", Lower, "time until the kernel was told", "内核得知前的时间", "From the start of the event until the kernel of a host or pod first reported a change of its routes or of its packet filter (nf_tables) that the event cannot have made itself.")
	UndoNoticed = define("undo.noticed", "s", Lower, "time until the kernel was told of the end", "内核得知结束前的时间", "From the moment that the event was undone until the kernel of a host or pod first reported such a change.")
	Passed      = define("event.passed", "1", Lower, "requests answered against the event", "事件生效后仍获应答的请求", "Of an event that should stop traffic, the requests that were answered although they were sent after its steps had ended and before undoing it began, in whole bins of the probe's time line, of 1 ms or 1/2000 of the window.")
	PassedFor   = define("event.passed.for", "s", Lower, "time of answers against the event", "事件生效后仍有应答的时间", "From the moment that its steps had ended until the end of the last such bin; 0 if there was none.")
	Recovery    = define("recovery", "s", Lower, "recovery", "恢复时间", "From the moment that the event was undone until traffic flowed again; 0 if it flowed before.")
)
