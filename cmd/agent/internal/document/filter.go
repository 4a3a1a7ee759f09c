package document

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/itchyny/gojq"
)

// The limits on what a filter may use for one document.
const (
	maxTime   = 10 * time.Second
	maxOutput = 64 << 20 // bytes
)

// errOutput ends a filter that prints endlessly.
var errOutput = fmt.Errorf("it produces more than %d MiB from one document", maxOutput>>20)

// A Show writes the requested parts of one decoded document.
type Show func(ctx context.Context, w io.Writer, doc any) error

// A Filter accepts JSON documents, one after another, and writes the output of show for each once it is complete. Close
// waits for the last and returns the first error.
type Filter struct {
	in   *io.PipeWriter
	done chan error
}

// NewFilter starts a filter that writes to out. A document that show cannot use ends it. Anything written after that is
// dropped, so that the command can finish its work.
func NewFilter(ctx context.Context, out io.Writer, show Show) *Filter {
	r, w := io.Pipe()
	f := &Filter{in: w, done: make(chan error, 1)}
	// The document of a cancelled command is filtered too.
	ctx = context.WithoutCancel(ctx)
	go func() {
		err := each(ctx, r, out, show)
		io.Copy(io.Discard, r) // ends with Close
		f.done <- err
	}()
	return f
}

// Write takes the next bytes of the documents.
func (f *Filter) Write(p []byte) (int, error) { return f.in.Write(p) }

// Close ends the input. A reader that closed the pipe is not an error.
func (f *Filter) Close() error {
	f.in.Close() // has no error
	if err := <-f.done; !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

// each shows the documents of r up to its end.
func each(ctx context.Context, r io.Reader, out io.Writer, show Show) error {
	d := json.NewDecoder(bufio.NewReader(r))
	d.UseNumber()
	for {
		var doc any
		switch err := d.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the document: %w", err)
		}
		// Written at once, and only when it is complete: half an answer looks like a whole one.
		var text bounded
		err := show(ctx, &text, plain(doc))
		if err == nil {
			_, err = out.Write(text.text.Bytes())
		}
		if err != nil {
			return err
		}
	}
}

// bounded keeps a filter's output for one document. The buffer is not embedded, so that everything goes through Write.
type bounded struct{ text bytes.Buffer }

// Write accepts at most maxOutput bytes.
func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > maxOutput {
		return 0, errOutput
	}
	return b.text.Write(p)
}

// plain converts numbers to those that jq and templates compute with; integers stay exact.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		if n, ok := new(big.Int).SetString(v.String(), 10); ok {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	}
	return v
}

// JQ compiles a jq expression. It prints strings as they are, and everything else as JSON on one line, as `jq -r -c`
// does. It applies clean to every printed line; nil leaves the line as it is.
func JQ(expression string, clean func(string) string) (Show, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, w io.Writer, doc any) error {
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		for results := code.RunWithContext(ctx, doc); ; {
			v, more := results.Next()
			if !more {
				return nil
			}
			line, isText := v.(string)
			switch err, isError := v.(error); {
			case isError && ctx.Err() != nil:
				return fmt.Errorf("it takes more than %v for one document", maxTime)
			case isError && halted(err):
				return nil
			case isError:
				return err
			case !isText:
				text, err := gojq.Marshal(v)
				if err != nil {
					return err
				}
				line = string(text)
			}
			if clean != nil {
				line = clean(line)
			}
			if _, err := io.WriteString(w, line+"\n"); err != nil {
				return err
			}
		}
	}, nil
}

// halted reports whether the expression ended itself, with halt.
func halted(err error) bool {
	var halt *gojq.HaltError
	return errors.As(err, &halt) && halt.Value() == nil
}

// Template parses a template of text/template, which has the functions join, json, pluck, timeago, timefmt and truncate
// in addition to Go's own. It applies clean to everything printed for one document; nil leaves that as it is.
func Template(text string, clean func(string) string, now func() time.Time) (Show, error) {
	t, err := template.New("template").Option("missingkey=error").Funcs(functions(now)).Parse(text)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, w io.Writer, doc any) error {
		var out bounded
		if err := t.Execute(&out, doc); err != nil {
			return err
		}
		text := out.text.String()
		if clean != nil {
			text = clean(text)
		}
		_, err := io.WriteString(w, text)
		return err
	}, nil
}

// functions returns the functions that templates have in addition to Go's own, with the signatures that gh gives them.
func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"join": func(separator string, list []any) string {
			parts := make([]string, len(list))
			for i, v := range list {
				parts[i] = fmt.Sprint(v)
			}
			return strings.Join(parts, separator)
		},
		"json": func(v any) (string, error) {
			text, err := gojq.Marshal(v)
			return string(text), err
		},
		"pluck": func(field string, list []any) ([]any, error) {
			values := []any{}
			for _, v := range list {
				object, ok := v.(map[string]any)
				if !ok {
					return nil, fmt.Errorf("pluck %q: %v is not an object", field, v)
				}
				values = append(values, object[field])
			}
			return values, nil
		},
		"timeago": func(at string) (string, error) {
			t, err := time.Parse(time.RFC3339, at)
			return ago(now().Sub(t)), err
		},
		"timefmt": func(layout, at string) (string, error) {
			t, err := time.Parse(time.RFC3339, at)
			return t.Local().Format(layout), err
		},
		"truncate": func(most int, v any) string {
			letters := []rune(fmt.Sprint(v))
			if v == nil || most < 1 {
				return ""
			}
			if len(letters) > most {
				return string(letters[:most-1]) + "…"
			}
			return string(letters)
		},
	}
}

// ago formats an elapsed time in its largest unit.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		switch n := d / unit.size; {
		case n == 1:
			return "1 " + unit.name + " ago"
		case n > 1:
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return "just now"
}
