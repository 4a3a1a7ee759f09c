package edit

import (
	"bufio"
	"errors"
	"io"
	"testing"

	"agent/cmd/agent/internal/term"
)

// repeated reads as n bytes of one letter.
type repeated struct {
	letter byte
	n      int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.n)
	for i := range p[:n] {
		p[i] = r.letter
	}
	r.n -= n
	return n, nil
}

// A line without an end uses no more memory than the longest line that is read.
func TestALineThatIsTooLongIsNotKept(t *testing.T) {
	t.Parallel()
	line, err := readBatchLine(bufio.NewReader(&repeated{'a', 2 * maxLine}), nil)
	if !errors.Is(err, term.ErrTooLarge) || len(line) > maxLine+1 {
		t.Errorf("%d bytes are kept, %v", len(line), err)
	}
}
