package term

import (
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// A Console is where one process reads, writes and finds its environment. Nothing in this package accesses os.Stdin,
// os.Args or the environment in any other way, so a test can run a command in its own process.
type Console struct {
	Getenv         func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// When to paint: always, never, or otherwise depending on the terminal.
	Color string
	// Notices prints what may come while a board is drawn; nil for none.
	Notices *Notices
	// Alerts is how to call a person who is waited for: bell, osc9, or otherwise not at all.
	Alerts string
	// TTY is the path of the terminal of the process, used for questions if Stdin is something else; "" if no one may
	// be asked then.
	TTY string
	// Interrupts takes Ctrl-C if a command uses it for something other than ending; nil for none.
	Interrupts *Interrupts

	saw string // the diff that a person was shown last, whole and with its gates
}

// Saw remembers that the person has seen this diff with the gates' judgement of it, so that a result on the same
// terminal need not repeat both.
func (c *Console) Saw(diff string) { c.saw = diff }

// Terminal returns the file behind stream if it is a terminal, else nil. It takes any, so that it works for readers and
// writers.
func Terminal(stream any) *os.File {
	if f, ok := stream.(*os.File); ok && f != nil && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// rich reports whether escape sequences may go to w: it must be a terminal that understands them, and the user must not
// have declined them. A flag has the last word.
func (c *Console) rich(w io.Writer) bool {
	if c.Color == "always" || c.Color == "never" {
		return c.Color == "always"
	}
	return Terminal(w) != nil && c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb"
}

// Palette returns the colours for w.
func (c *Console) Palette(w io.Writer) Palette { return Palette{on: c.rich(w)} }

// Size returns the columns and lines of w. COLUMNS takes precedence, as people expect; unknown values count as 80 by
// 24.
func (c *Console) Size(w io.Writer) (columns, lines int) {
	// The size of terminals for half a century.
	columns, lines = 80, 24
	if f := Terminal(w); f != nil {
		if x, y, err := term.GetSize(int(f.Fd())); err == nil && x > 0 && y > 0 {
			columns, lines = x, y
		}
	}
	// A width too small to use is raised to one that the layout survives.
	if n, err := strconv.Atoi(c.Getenv("COLUMNS")); err == nil && n > 0 {
		columns = n
	}
	return max(columns, 10), max(lines, 4)
}

// screen returns the size of w for content that is drawn in place. Lines wider than the terminal would wrap, whatever
// COLUMNS says, which may date from before the window was resized.
func (c *Console) screen(w io.Writer) (columns, lines int) {
	columns, lines = c.Size(w)
	if f := Terminal(w); f != nil {
		if x, _, err := term.GetSize(int(f.Fd())); err == nil && x > 0 {
			columns = min(columns, x)
		}
	}
	return columns, lines
}

// Alert calls the person at the terminal, who may have turned to something else, in the way they chose: a bell, or a
// notification that says why.
func (c *Console) Alert(why string) {
	if Terminal(c.Stderr) == nil || c.Getenv("TERM") == "dumb" {
		return
	}
	switch c.Alerts {
	case "bell":
		io.WriteString(c.Stderr, "\a") // a user who does not hear it sees the question
	case "osc9":
		io.WriteString(c.Stderr, "\x1b]9;agent: "+CleanLine(why)+"\a")
	}
}

// A Palette paints words, or leaves them as they are. The colours are the terminal's own sixteen, so that they fit the
// user's theme. Colour never carries meaning alone: the words say it too.
type Palette struct{ on bool }

// paint wraps s in one colour. An empty text gets no escape sequences, which would be invisible and still break the
// alignment.
func (p Palette) paint(s string, c color.Color) string {
	if !p.on || s == "" {
		return s
	}
	return style().Foreground(c).Render(s)
}

// style returns a style that leaves tabs as they are.
func style() lipgloss.Style { return lipgloss.NewStyle().TabWidth(lipgloss.NoTabConversion) }

// Good is for anything that passed.
func (p Palette) Good(s string) string { return p.paint(s, lipgloss.Green) }

// Bad is for anything that is the patch's fault.
func (p Palette) Bad(s string) string { return p.paint(s, lipgloss.Red) }

// Warn is for anything worth a look.
func (p Palette) Warn(s string) string { return p.paint(s, lipgloss.Yellow) }

// Accent is for what the eye should find first, such as a place in a file.
func (p Palette) Accent(s string) string { return p.paint(s, lipgloss.Cyan) }

// Dim is for anything that may be overlooked.
func (p Palette) Dim(s string) string {
	if !p.on || s == "" {
		return s
	}
	return style().Faint(true).Render(s)
}

// Bold is for headings.
func (p Palette) Bold(s string) string {
	if !p.on || s == "" {
		return s
	}
	return style().Bold(true).Render(s)
}

// Clean makes text of unknown origin harmless on a terminal: control characters become their Unicode pictures, the
// characters that reorder text become their numbers, and bytes that are not UTF-8 become the replacement character.
// Line ends and tabs stay. Everything that a model, a tool or a workspace wrote goes through Clean before it is
// printed: file names, diffs, messages, output. A terminal obeys escape sequences from any source. They can rewrite
// what was shown above, set the clipboard, or answer a question that was never asked.
func Clean(s string) string {
	// The common case needs no copy.
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || !unsafeRune(r):
			b.WriteRune(r)
		// The pictures form a Unicode block of their own, in the order of the characters they show.
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// CleanLine is Clean for what must stay on one line, such as a file name.
func CleanLine(s string) string {
	return strings.NewReplacer("\n", "␊", "\t", "␉").Replace(Clean(s))
}

// harmless reports whether Clean would leave the text as it is, which is true of nearly all texts.
func harmless(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return r != '\n' && r != '\t' && unsafeRune(r)
	}) < 0
}

// unsafeRune reports control characters (C0, DEL, C1) and the bidirectional controls, which can make text appear in
// another order than it has.
func unsafeRune(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	// Embeddings, overrides, isolates and marks.
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c:
		return true
	}
	return false
}

// ErrTooLarge is the error of Read for more than the limit.
var ErrTooLarge = errors.New("too large")

// Read returns everything that r holds, up to limit bytes. Waiting for a terminal or a pipe ends with ctx.
func Read(ctx context.Context, r io.Reader, limit int64) ([]byte, error) {
	// One byte beyond the limit distinguishes a text that is too long from one that just fits.
	data, err := io.ReadAll(io.LimitReader(Interruptible(ctx, r), limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ErrTooLarge
	}
	return data, err
}

// ReadLine returns the next line of r without its end, or io.EOF if there is none. It reads byte by byte so that
// nothing after the line is lost to a program that reads the same terminal later.
func ReadLine(ctx context.Context, r io.Reader) (string, error) {
	// No answer to a question is longer.
	return readLine(ctx, r, 1<<10)
}

// readLine is ReadLine for lines of at most longest bytes.
func readLine(ctx context.Context, r io.Reader, longest int) (string, error) {
	// The terminal delivers whole lines, so reading single bytes costs nothing that a person could notice.
	from, one := Interruptible(ctx, r), make([]byte, 1)
	var line []byte
	for len(line) < longest {
		n, err := from.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return string(line), err
		}
	}
	return string(line), nil
}

// Interruptible wraps a stream so that a read that must wait returns when ctx ends: a blocked read of a terminal cannot
// be interrupted in any other way.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		// A file that is neither a terminal nor a pipe is always readable, so this costs it nothing.
		if f, ok := r.(*os.File); ok {
			if err := readable(ctx, int(f.Fd())); err != nil {
				return 0, err
			}
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

// readable returns when a read of fd would not block, or when ctx has ended.
func readable(ctx context.Context, fd int) error {
	const glance = 100 * time.Millisecond // between two looks at ctx
	for {
		// A hang-up counts as readable: the read that follows reports what happened. A signal that interrupts the wait
		// is no error; if it was meant for the run, ctx has ended.
		ready, err := waitInput(fd, glance)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for input: %w", err)
		case ready:
			return nil
		}
	}
}

// A readerFunc is a function as an io.Reader.
type readerFunc func(p []byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
