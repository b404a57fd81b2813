package record

import (
	"fmt"
	"maps"
)

// A Note is something about a trial that a reader of its numbers must know: a code and its arguments. The
// words are Format's, and a reader's language is chosen where they are printed.
type Note struct {
	Code NoteCode `json:"code"`
	Args []string `json:"args,omitempty"`
}

// A NoteCode identifies the words of a note.
type NoteCode string

var noteFormats = map[NoteCode]string{}

func note(code NoteCode, format string) NoteCode {
	noteFormats[code] = format
	return code
}

// Codes of notes, with their words in English; %s stands for an argument. Without arguments, words have single percent signs.
var (
	NoteText = note("text", "%s") // what another program said, word by word

	NoteStalled       = note("stalled", "nothing arrived for more than 50 ms, a stall: its length is recorded as silence")
	NoteSilent        = note("silent", "nothing arrived in the window: a stall lasted longer")
	NoteRefused       = note("fragments-refused", "nothing arrived in the window: the server's kernel refused (fragments.failed) most fragments that reached it (fragments.received), because incomplete datagrams fill its reassembly memory for 30 s (fragments.waiting; net.ipv4.ipfrag_high_thresh and ipfrag_time, or those of IPv6)")
	NoteFragmentsLeft = note("fragments-left", "fragments left by earlier trials take memory from this one: %s")
	NoteFragmentsFew  = note("fragments-few", "%s, but too few to be those of this trial: others on the machine cut or receive fragments, too")
	NoteCut           = note("cut", "packets of %s bytes between %s (%s) and %s (%s) are cut into fragments, although they fit: what carries them adds headers; lower the MTU of these devices, or raise that of the device below them")
	NoteSmallBuffer   = note("small-buffer", "the server's socket dropped %s of the datagrams: its buffer is %s bytes, and weir asks for %s; raise net.core.rmem_max on %s")
	NoteCounters      = note("counters", "counters: %s")
	NoteNoCPUTime     = note("no-cpu-time", "no CPU time: the tool ended before its window did, or does not report when that is")
	NoteBusyBefore    = note("busy-before", "%s cores were busy before the run began: other programs disturb it, and CPU times are rough except those of the engine's own threads")
	NoteBusyHost      = note("busy-host", "other programs kept %s busy before this block (cpu.idle-baseline): CPU times are rough, except those of the engine's own threads")
	NoteIdleUnknown   = note("idle-unknown", "the idle use of %s before this block is unknown: CPU times include it")
	NoteOwnImpossible = note("own-impossible", "cpu.own is left out: the engine's threads report %s cores, but all programs together used %s")

	NoteDelayUncounted = note("delay-uncounted", "counts of the delayed packets are missing: %s")
	NoteDelayDropped   = note("delay-dropped", "limited by the delay program, not by the network: it dropped packets for lack of room (delay.dropped)")
	NoteDelayBusy      = note("delay-busy", "limited by the delay program, not by the network: its thread used more than 90 % of a CPU (delay.busy)")
	NoteDelayInexact   = note("delay-inexact", "the delay is inexact: 1 % of the packets or more left late by a quarter of it, or by 1 ms where it is 0 (delay.late)")

	// Of imported results.
	NoteNoMean       = note("no-geometric-mean", "0 has no geometric mean: the value leaves it out")
	NoteIperf3Lost   = note("iperf3-lost", "throughput is of the packets sent less those lost, because iperf3 before 3.10 does not report received bytes")
	NoteSockperfSent = note("sockperf-sent", "sockperf's throughput mode counts what was sent over UDP, not what arrived")
	NoteSenderCount  = note("sender-count", "throughput is the sender's count, which includes bytes that were still in its socket buffer")
	NoteIperf2Sender = note("iperf2-sender", "throughput is the sender's count, which includes bytes that were still in its socket buffer: iperf 2's client does not know what arrived")
	NoteEndUnknown   = note("end-unknown", "-y C does not say which end wrote it; a sender's throughput includes bytes that were still in its socket buffer")
	NoteCoarseLoss   = note("coarse-loss", "loss is known to ±%s %%: qperf printed few digits (-e 9 prints more)")
	NoteConfidence   = note("confidence", "netperf did not reach the confidence that it was asked for")
)

// NoteFormats returns the words of all notes in English, as of fmt.
func NoteFormats() map[NoteCode]string { return maps.Clone(noteFormats) }

// With makes a note. Arguments are printed as fmt.Sprint prints them.
func (c NoteCode) With(args ...any) Note {
	n := Note{Code: c}
	for _, a := range args {
		n.Args = append(n.Args, fmt.Sprint(a))
	}
	return n
}

// Format returns the words and their arguments. Of a newer program's code, it prints the note as it is stored.
func (n Note) Format() (format string, args []any) {
	format, ok := noteFormats[n.Code]
	if !ok {
		return "%s", []any{fmt.Sprint(n.Code, " ", n.Args)}
	}
	for _, a := range n.Args {
		args = append(args, a)
	}
	return format, args
}

// String is the note in English.
func (n Note) String() string {
	format, args := n.Format()
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
