package wire

import (
	"io"
	"testing"
	"time"
)

// A person who waits is told the reason; one who does not wait sees nothing.
func TestWhatTakesLongIsTold(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	done := tellLate(w, time.Nanosecond, "still at it")
	line := make([]byte, 32)
	n, err := r.Read(line) // the writer continues once all is read
	if got := string(line[:n]); got != "still at it\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	done()
	tellLate(nil, time.Hour, "never")()
}
