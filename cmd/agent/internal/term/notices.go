package term

import (
	"fmt"
	"io"
	"slices"
	"sync"
)

// A Notices prints lines that may come at any moment, such as those of a signal handler, without disturbing a board's
// frame. All copies of a Console share one; nil prints nothing and knows no board.
type Notices struct {
	w io.Writer

	mu     sync.Mutex
	boards []*Board // on a terminal, the newest last
}

// NewNotices returns notices on w, the terminal of the boards.
func NewNotices(w io.Writer) *Notices { return &Notices{w: w} }

// Say prints a line, above the board if there is one.
func (n *Notices) Say(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.boards) > 0 {
		n.boards[len(n.boards)-1].say(line)
		return
	}
	fmt.Fprintln(n.w, line)
}

// attach registers a board that draws on the terminal.
func (n *Notices) attach(b *Board) {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.boards = append(n.boards, b)
	}
}

// detach unregisters a board.
func (n *Notices) detach(b *Board) {
	if n != nil {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.boards = slices.DeleteFunc(n.boards, func(have *Board) bool { return have == b })
	}
}
