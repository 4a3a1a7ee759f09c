package guest

import (
	"os"
)

// A capture keeps the head and the tail of what a program writes, and counts what it drops in between. As long as
// everything fits, it is all head.
type capture struct {
	// limit is how many bytes are kept in all.
	limit int
	// head holds the first bytes, at most limit of them.
	head []byte
	// ring is a circular buffer of the last bytes once head is full; next is where the next byte goes.
	ring  []byte
	next  int
	total int64
	// also and passed receive everything that is written; either may be nil.
	also, passed func(p []byte)
}

func newCapture(limit int) *capture { return &capture{limit: limit} }

// Write keeps the part of p that is within the limit. It never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if c.also != nil {
		c.also(p)
	}
	if c.passed != nil {
		c.passed(p)
	}
	if room := c.limit - len(c.head); room > 0 {
		room = min(room, len(p))
		c.head = append(c.head, p[:room]...)
		p = p[room:]
	}
	if len(p) == 0 || c.limit == 0 {
		return n, nil
	}
	if c.ring == nil {
		// From here on bytes are dropped: the second half of head becomes the first tail.
		c.ring = append([]byte(nil), c.head[c.limit-c.limit/2:]...)
	}
	if len(c.ring) == 0 {
		return n, nil
	}
	p = p[max(0, len(p)-len(c.ring)):]
	for len(p) > 0 {
		k := copy(c.ring[c.next:], p)
		c.next = (c.next + k) % len(c.ring)
		p = p[k:]
	}
	return n, nil
}

// output returns what was kept.
func (c *capture) output() Output {
	if c.total <= int64(c.limit) {
		return Output{Head: c.head}
	}
	head := c.head[:c.limit-c.limit/2]
	tail := append(append([]byte(nil), c.ring[c.next:]...), c.ring[:c.next]...)
	return Output{Head: head, Tail: tail, Dropped: c.total - int64(len(head)) - int64(len(tail))}
}

// readFrom reads f to its end or its deadline.
func (c *capture) readFrom(f *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		_, _ = c.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
