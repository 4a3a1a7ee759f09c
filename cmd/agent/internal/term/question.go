package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// ErrExpired is the error of Ask if no answer came in time.
var ErrExpired = errors.New("no answer in time")

// A Choice is one answer to a Question.
type Choice struct {
	Key  rune   // the key that selects it, in lower case; shown in its name, as [a]pply
	Name string // its name, such as "apply"; shown after the key if it does not contain it
	Help string // what it does, for `?`
	// More holds further keys that select it and are not shown: keys that people are used to.
	More string
}

// A Question is asked at the terminal, and answered by a key without Enter. `?` explains the choices. A terminal that
// has no keys of its own (TERM=dumb) takes a line: the key, or the name.
//
//	Write this to the workspace? [a]pply (Enter), [f]ull diff, [s]kip, [?]
//	stops in 214 s > apply
type Question struct {
	Text    string
	Choices []Choice
	// Default is the key that Enter stands for, 0 for none: then a choice must be made.
	Default rune
	// Wait is how long the question waits, 0 for ever. Expires says what happens then, such as "applies" or "stops".
	Wait    time.Duration
	Expires string
}

// Ask asks until the user makes one of the choices, and returns its key. Anything typed before the question appeared is
// not an answer to it. The error is ErrExpired, io.EOF if the terminal went away or has no more input, or that of ctx.
func (c *Console) Ask(ctx context.Context, q Question) (rune, error) {
	k := c.keyboard()
	if k == nil {
		return 0, io.EOF
	}
	defer k.close()
	keys := c.Getenv("TERM") != "dumb" && k.press()
	defer k.release()
	_ = dropInput(int(k.tty.Fd())) // a terminal that cannot forget is asked all the same
	// The countdown is a deadline of its own; checking both contexts tells it apart from the caller's end. It covers
	// all attempts: asking for help does not wind the clock back.
	timed := ctx
	if q.Wait > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, q.Wait)
		defer cancel()
	}
	for {
		columns, _ := c.Size(c.Stderr)
		fmt.Fprintln(c.Stderr, q.asked(c.Palette(c.Stderr), columns))
		chosen, err := c.answer(timed, k, q, keys)
		switch {
		case err == nil && chosen == '?':
			q.explain(c)
		case err == nil && chosen != 0:
			return chosen, nil
		case err == nil:
			fmt.Fprintln(c.Stderr, q.slip())
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case timed.Err() != nil:
			return 0, ErrExpired
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO): // EIO: the terminal itself went away
			return 0, io.EOF
		default:
			return 0, fmt.Errorf("read the answer: %w", err)
		}
	}
}

// answer reads one answer: the key of a choice, '?', or 0 for anything else.
func (c *Console) answer(ctx context.Context, k *keyboard, q Question, keys bool) (rune, error) {
	redraw := keys && c.rich(c.Stderr)
	fmt.Fprint(c.Stderr, q.prompt(ctx))
	// The clock stops before anything else is written.
	stop := func() {}
	if redraw {
		stop = c.countdown(ctx, q)
	}
	var typed string
	var err error
	if keys {
		var r rune
		if r, err = k.key(ctx); r > 0 {
			typed = string(r)
		}
	} else {
		typed, err = ReadLine(ctx, k.tty)
	}
	stop()
	if err != nil {
		fmt.Fprintln(c.Stderr) // no line ended on the screen
		return 0, err
	}
	chosen, name := q.chosen(typed)
	// A typed line is on the screen already, a key is not.
	if keys {
		fmt.Fprintln(c.Stderr, name)
	}
	return chosen, nil
}

// chosen returns the key of the choice that was typed, and what to show of it.
func (q Question) chosen(typed string) (key rune, name string) {
	word := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), "_", " "))
	if word == "" && (typed == "" || typed == "\n" || typed == "\r") && q.Default != 0 {
		word = string(q.Default)
	}
	if word == "?" {
		return '?', "help"
	}
	for _, ch := range q.Choices {
		if word == string(ch.Key) || len([]rune(word)) == 1 && strings.Contains(ch.More, word) || word == ch.Name {
			return ch.Key, ch.Name
		}
	}
	return 0, Clean(strings.TrimFunc(typed, unicode.IsControl))
}

// prompt returns the line for the answer, with the time left of the countdown.
func (q Question) prompt(ctx context.Context) string {
	end, timed := ctx.Deadline()
	if q.Wait <= 0 || !timed {
		return "> "
	}
	// Rounded up: at the last second there is still one.
	left := (time.Until(end) + time.Second - 1) / time.Second
	return fmt.Sprintf("%s in %d s > ", q.Expires, max(left, 0))
}

// asked returns the question with its choices, with the default marked. It breaks no choice at the end of a line.
func (q Question) asked(pal Palette, columns int) string {
	parts := []string{pal.Bold(q.Text)}
	for _, ch := range q.Choices {
		text := ch.label()
		if ch.Key == q.Default {
			text += " (Enter)"
		}
		parts = append(parts, text+",")
	}
	return fill(append(parts, "[?]"), columns, 0)
}

// label returns the name of a choice with its key in it.
func (ch Choice) label() string {
	key := "[" + string(ch.Key) + "]"
	// The first word that begins with the key, or else its first occurrence.
	at := strings.IndexRune(ch.Name, ch.Key)
	if i := strings.Index(" "+ch.Name, " "+string(ch.Key)); i >= 0 {
		at = i
	}
	if at < 0 {
		return ch.Name + " " + key
	}
	return ch.Name[:at] + key + ch.Name[at+len(string(ch.Key)):]
}

// explain prints what each choice does.
func (q Question) explain(c *Console) {
	for _, ch := range q.Choices {
		columns, _ := c.Size(c.Stderr)
		fmt.Fprintf(c.Stderr, "  %c  %s\n", ch.Key, Fill(ch.Name+": "+ch.Help, columns, len("  k  ")))
	}
	fmt.Fprintln(c.Stderr, "  ?  this help")
}

// slip returns the reply to any other key.
func (q Question) slip() string {
	var parts []string
	for _, ch := range q.Choices {
		parts = append(parts, string(ch.Key))
	}
	return "press one of " + strings.Join(parts, ", ") + " (? for help)"
}

// countdown rewrites the line of the answer each second, until ctx ends or the returned function is called. Nothing is
// typed on that line: keys have no echo.
func (c *Console) countdown(ctx context.Context, q Question) (stop func()) {
	if q.Wait <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				fmt.Fprint(c.Stderr, "\r\x1b[K"+q.prompt(ctx))
			}
		}
	})
	return func() { close(done); showing.Wait() }
}

// AskYes asks whether to do what text names. There is no default: the answer needs a key of its own. The error is that
// of Ask.
func (c *Console) AskYes(ctx context.Context, text string) (bool, error) {
	key, err := c.Ask(ctx, Question{Text: text, Choices: []Choice{
		{Key: 'y', Name: "yes", Help: "do it"},
		{Key: 'n', Name: "no", Help: "change nothing", More: "q"},
	}})
	return key == 'y', err
}

// AskText asks for a text: a line, the lines that were pasted with it, and the next line if it ends with a backslash.
// The error is io.EOF at the end of the input, that of ctx, or of the terminal.
func (c *Console) AskText(ctx context.Context, prompt string) (string, error) {
	k := c.keyboard()
	if k == nil {
		return "", io.EOF
	}
	defer k.close()
	fmt.Fprint(c.Stderr, prompt)
	const longest = 64 << 10
	var text strings.Builder
	for text.Len() < longest {
		line, err := readLine(ctx, k.tty, longest)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil && text.Len()+len(line) > 0: // the end comes again
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO):
			return "", io.EOF
		case err != nil:
			return "", fmt.Errorf("read the question: %w", err)
		}
		more, goesOn := strings.CutSuffix(line, "\\")
		text.WriteString(more)
		if err != nil || !goesOn && !waiting(k.tty) {
			break
		}
		text.WriteByte('\n')
	}
	return strings.TrimRight(text.String(), " \t\r\n"), nil
}

// AskLine asks for a line of text, and returns "" if nothing was typed. Anything typed before the question appeared is not an answer,
// such as the Enter after the key of the previous one. The error is that of ctx, or of the terminal; its end is no error.
func (c *Console) AskLine(ctx context.Context, text string) (string, error) {
	k := c.keyboard()
	if k == nil {
		return "", io.EOF
	}
	defer k.close()
	_ = dropInput(int(k.tty.Fd())) // a terminal that cannot forget is asked all the same
	fmt.Fprint(c.Stderr, text+" ")
	line, err := ReadLine(ctx, k.tty)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EIO):
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}
