package tools

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"

	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
)

// searchTool finds text, or a symbol in the ledger.
var searchTool = Tool{
	Name: "search",
	About: "Find where something is. With text: the lines of files that contain it, as they are with your changes. With symbol: where a " +
		"function, class, type or constant of that name is defined, and which files use it. Prefer symbol for names in code.",
	Fields: []Field{
		{Name: "text", Kind: "string", About: "text to find"},
		{Name: "symbol", Kind: "string", About: "name of a definition, or Class.name for a member"},
		{Name: "path", Kind: "string", About: "directory or file to look in; everywhere when left out"},
		{Name: "pattern", Kind: "boolean", About: "text is a regular expression (RE2)"},
		{Name: "ignore_case", Kind: "boolean", About: "letters of either case match"},
	},
	run: func(ctx context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct {
			Text, Symbol, Path string
			Pattern            bool
			IgnoreCase         bool `json:"ignore_case"`
		}](args)
		switch {
		case (a.Text == "") == (a.Symbol == ""):
			return failed(`give one of "text" and "symbol"`), nil
		case a.Symbol != "" && b.Symbols == nil:
			return failed("nothing is known of symbols here: search for text"), nil
		}
		now := b.Draft.Now()
		prefix := clean(a.Path)
		if e, ok := now.Lookup(prefix); a.Path == "" || prefix == "." || prefix == "/work" {
			prefix = ""
		} else if !ok {
			return failed("%s is not there%s", prefix, alike(now, prefix)), nil
		} else if e.Kind == workspace.Symlink {
			return failed("%s is a %s to %s, and is not followed", prefix, e.Kind, e.Target), nil
		} else if e.Kind == workspace.Dir {
			prefix += "/"
		}
		if a.Symbol != "" {
			return b.symbol(a.Symbol, prefix), nil
		}
		match, err := matcher(a.Text, a.Pattern, a.IgnoreCase)
		if err != nil {
			return failed("the pattern is none: %v", err), nil
		}
		return grep(ctx, now, prefix, match)
	},
}

// The bounds of a search for text.
const (
	maxHits  = 100       // lines shown
	maxLine  = 200       // bytes of each
	maxScan  = 512 << 20 // bytes of files read
	maxNamed = 5         // files named as left out
)

// matcher returns a function that finds a text in a line and returns its position. RE2 takes time in proportion to the
// line, whatever the pattern.
func matcher(text string, pattern, ignoreCase bool) (func(line []byte) int, error) {
	if !pattern && !ignoreCase {
		return func(line []byte) int { return bytes.Index(line, []byte(text)) }, nil
	}
	if !pattern {
		text = regexp.QuoteMeta(text)
	}
	if ignoreCase {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return func(line []byte) int {
		if at := re.FindIndex(line); at != nil {
			return at[0]
		}
		return -1
	}, nil
}

// below reports whether a file is prefix itself or, if prefix ends with a slash, lies in that directory.
func below(file, prefix string) bool {
	return prefix == "" || file == prefix || strings.HasSuffix(prefix, "/") && strings.HasPrefix(file, prefix)
}

// grep lists the lines below a prefix that match.
func grep(ctx context.Context, m *workspace.Manifest, prefix string, match func([]byte) int) (Answer, error) {
	var out strings.Builder
	hits, files, scanned := 0, 0, int64(0)
	var large []string
	for _, e := range m.Entries {
		if e.Kind != workspace.File || !below(e.Path, prefix) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return Answer{}, err
		}
		if e.Size > workspace.MaxContent || scanned+e.Size > maxScan {
			large = append(large, e.Path)
			continue
		}
		scanned += e.Size
		data, err := m.ReadFile(e.Path)
		if err != nil || workspace.IsBinary(data) {
			continue // changed or gone by now, or not text
		}
		n := found(&out, e.Path, data, match, maxHits-hits)
		if n > 0 {
			files++
		}
		hits += n
	}
	if hits == 0 {
		out.WriteString("no line matches\n")
	}
	if hits > maxHits {
		fmt.Fprintf(&out, "[%d more lines, in %s in all: search in a directory, or for more]\n", hits-maxHits, number(files, "file"))
	}
	if len(large) > 0 {
		fmt.Fprintf(&out, "[not looked into, as they are too large: %s, %s in all]\n", strings.Join(large[:min(len(large), maxNamed)], ", "), number(len(large), "file"))
	}
	return Answer{Text: out.String()}, nil
}

// found writes the lines of a file that match, as many as may be shown, and returns how many there are.
func found(out *strings.Builder, name string, data []byte, match func([]byte) int, show int) (n int) {
	for number := 1; len(data) > 0; number++ {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		at := match(line)
		if at < 0 {
			continue
		}
		if n++; n > show {
			continue
		}
		cut := ""
		if len(line) > maxLine && at > maxLine/2 { // show the place, not the beginning of the line
			cut, line = "…", line[at-maxLine/2:]
		}
		text := strings.ToValidUTF8(string(line[:min(len(line), maxLine)]), "")
		fmt.Fprintf(out, "%s:%d: %s%s\n", name, number, cut, text)
	}
	return n
}

// symbol lists the definitions of a name and their users.
func (b *Bench) symbol(name, prefix string) Answer {
	parent := ""
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && dot < len(name)-1 {
		parent, name = name[:dot], name[dot+1:]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, file := range b.Symbols.Defining(name) {
		if !below(file, prefix) {
			continue
		}
		f, _ := b.Symbols.File(file)
		for _, d := range f.Definitions {
			if d.Name != name || parent != "" && d.Parent != parent || d.Kind == ledger.Module {
				continue
			}
			fmt.Fprintf(&out, "%s:%d: %s %s%s\n", file, d.Line, d.Kind, title(d), b.moved(file))
			for _, u := range b.Symbols.Users(file, d) {
				fmt.Fprintf(&out, "  used by %s, line %s\n", u.Path, strings.ReplaceAll(strings.Trim(fmt.Sprint(u.Lines), "[]"), " ", ", "))
			}
		}
	}
	if out.Len() == 0 {
		return failed("no definition of that name is known: search for it as text")
	}
	return Answer{Text: out.String()}
}
