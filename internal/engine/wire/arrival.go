package wire

import "encoding/binary"

// An Arrival is what the server of udp-outage writes after the header of every reply: about the request, and about all
// requests of the run so far. Times are ns of the server's CLOCK_MONOTONIC. Most significant byte first:
//
//	0  8  At
//	8  5  Turn
//	13 3  Dropped
//	16 4  Count
//	20 4  Stalled, in µs
//	24 8  GapBegin
//	32 8  GapEnd
//	40 8  Gaps
//
// Replies get lost, so no fact is in one of them alone: the last gap and the sum of all gaps say which gap an earlier
// reply would have told.
type Arrival struct {
	At       int64 // the kernel received this request; where it does not stamp, the program read it
	Turn     int64 // from then until the reply was about to leave; 0 over TCP
	Dropped  int64 // datagrams without room in the server's socket since it was made, modulo 2^24
	Count    int64 // requests of the run so far, without duplicates
	Stalled  int64 // sum of the times, each longer than a millisecond, in which a request waited for the server's program, or could have
	GapBegin int64 // the last time between two arrivals that is longer than Params.Gap; 0: none was
	GapEnd   int64
	Gaps     int64 // sum of all such times
}

const (
	ArrivalSize = 48 // bytes
	maxTurn     = 1<<40 - 1
	maxDropped  = 1<<24 - 1
)

// DroppedSince returns how many datagrams the socket dropped between two arrivals.
func (a Arrival) DroppedSince(b Arrival) int64 { return (a.Dropped - b.Dropped) & maxDropped }

func (a Arrival) Put(b []byte) {
	_ = b[ArrivalSize-1]
	binary.BigEndian.PutUint64(b, uint64(a.At))
	binary.BigEndian.PutUint64(b[8:], uint64(min(max(a.Turn, 0), maxTurn))<<24|uint64(a.Dropped&maxDropped))
	binary.BigEndian.PutUint32(b[16:], uint32(a.Count))
	binary.BigEndian.PutUint32(b[20:], uint32(a.Stalled/1000))
	binary.BigEndian.PutUint64(b[24:], uint64(a.GapBegin))
	binary.BigEndian.PutUint64(b[32:], uint64(a.GapEnd))
	binary.BigEndian.PutUint64(b[40:], uint64(a.Gaps))
}

// ParseArrival reports false unless b begins with a possible Arrival.
func ParseArrival(b []byte) (a Arrival, ok bool) {
	if len(b) < ArrivalSize {
		return a, false
	}
	turn := binary.BigEndian.Uint64(b[8:])
	a = Arrival{
		At: int64(binary.BigEndian.Uint64(b)), Turn: int64(turn >> 24), Dropped: int64(turn & maxDropped),
		Count: int64(binary.BigEndian.Uint32(b[16:])), Stalled: 1000 * int64(binary.BigEndian.Uint32(b[20:])),
		GapBegin: int64(binary.BigEndian.Uint64(b[24:])), GapEnd: int64(binary.BigEndian.Uint64(b[32:])), Gaps: int64(binary.BigEndian.Uint64(b[40:])),
	}
	return a, a.At >= 0 && a.Count > 0 && a.GapBegin >= 0 && a.GapEnd >= a.GapBegin && a.GapEnd <= a.At && a.Gaps >= a.GapEnd-a.GapBegin
}
