package wire

import (
	"io"
	"testing"
	"time"
)

// Who waits is told what for, and who does not hears nothing.
func TestWhatTakesLongIsTold(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	done := tellLate(w, time.Nanosecond, "still at it")
	line := make([]byte, 32)
	n, err := r.Read(line) // the writer goes on when all is read
	if got := string(line[:n]); got != "still at it\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	done()
	tellLate(nil, time.Hour, "never")()
}
