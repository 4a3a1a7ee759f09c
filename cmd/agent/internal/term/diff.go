package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/charmbracelet/x/ansi"
)

// A DiffView prints a unified diff for people: added and removed lines by colour and sign, the code by its language.
// Its output cannot be applied as a patch; `agent runs diff` prints the diff itself. Nothing of the diff reaches the
// terminal uncleaned: it holds file names and content that a model wrote.
type DiffView struct {
	Palette  Palette
	MaxLines int    // lines shown; 0 for all
	More     string // how to see the others
}

// Print writes the diff, and how many lines it left out.
func (v DiffView) Print(w io.Writer, diff string) {
	// All lines are painted, even those that are cut: a token may begin above the cut.
	lines := v.lines(diff)
	shown := lines
	// The rest is a keystroke away in the question, and printed completely everywhere else.
	if v.MaxLines > 0 && len(lines) > v.MaxLines {
		shown = lines[:v.MaxLines]
	}
	for _, line := range shown {
		fmt.Fprintln(w, line)
	}
	if rest := len(lines) - len(shown); rest > 0 {
		fmt.Fprintln(w, v.Palette.Dim(fmt.Sprintf("… and %d more lines: %s", rest, v.More)))
	}
}

// lines paints the diff, one element per line. The language's lexer gets the lines of a hunk together, so that tokens
// over several lines are recognized.
func (v DiffView) lines(diff string) []string {
	diff = strings.TrimSuffix(diff, "\n")
	if diff == "" {
		return nil
	}
	var painted, hunk []string
	var lexer chroma.Lexer
	// A hunk is painted when it ends: at the next hunk, the next file, or the end.
	flush := func() {
		painted = append(painted, v.hunk(lexer, hunk)...)
		hunk = nil
	}
	// Inside a hunk a line that looks like a header is content.
	inHunk := false
	for _, line := range strings.Split(diff, "\n") {
		// Tabs stay tabs: what is approved is what is written.
		line = CleanTabs(line)
		switch {
		case strings.HasPrefix(line, "diff "):
			flush()
			inHunk = false
			painted = append(painted, v.Palette.Bold(line))
		case strings.HasPrefix(line, "@@"):
			flush()
			inHunk = true
			painted = append(painted, v.Palette.Accent(line))
		case inHunk:
			hunk = append(hunk, line)
		default:
			// The new name decides: a renamed file is shown as what it has become. A deleted file has no name here and
			// keeps the language of the previous file. That does no harm: its lines are red.
			if name, ok := strings.CutPrefix(line, "+++ "); ok {
				lexer = v.lexer(strings.TrimPrefix(name, "b/"))
			}
			painted = append(painted, v.Palette.Dim(line))
		}
	}
	flush()
	return painted
}

// CleanTabs is Clean for a single line, and keeps its tabs.
func CleanTabs(line string) string { return strings.ReplaceAll(Clean(line), "\n", "␊") }

// lexer returns the lexer for the language of a file, nil if there is none or without colours.
func (v DiffView) lexer(name string) chroma.Lexer {
	if !v.Palette.on {
		return nil
	}
	if l := lexers.Match(name); l != nil {
		return chroma.Coalesce(l)
	}
	return nil
}

// hunk paints the lines of one hunk. Removed lines are painted whole and not by token: two colours in a red line are
// hard to read.
func (v DiffView) hunk(lexer chroma.Lexer, lines []string) []string {
	// The signs are not part of the language.
	bodies := make([]string, len(lines))
	for i, line := range lines {
		if line != "" {
			bodies[i] = line[1:]
		}
	}
	painted := v.paintCode(lexer, bodies)
	for i, line := range lines {
		if line == "" {
			continue
		}
		switch line[0] {
		case '+':
			painted[i] = v.Palette.Good("+") + painted[i]
		case '-':
			painted[i] = v.Palette.Bad("-" + bodies[i])
		case '\\':
			painted[i] = v.Palette.Dim(line)
		default:
			painted[i] = line[:1] + painted[i]
		}
	}
	return painted
}

// paintCode paints lines of code by their tokens. If the lexer returns fewer lines or another text, the lines stay
// unpainted.
func (v DiffView) paintCode(lexer chroma.Lexer, lines []string) []string {
	plain := append([]string(nil), lines...)
	if lexer == nil || len(lines) == 0 {
		return plain
	}
	tokens, err := lexer.Tokenise(nil, strings.Join(lines, "\n"))
	if err != nil {
		return plain
	}
	// A lexer may add a line end of its own, and on odd input may return fewer lines. The text matters more than its
	// colours.
	split := chroma.SplitTokensIntoLines(tokens.Tokens())
	if len(split) < len(lines) {
		return plain
	}
	painted := make([]string, len(lines))
	for i := range lines {
		for _, t := range split[i] {
			painted[i] += v.token(t.Type, strings.TrimSuffix(t.Value, "\n"))
		}
		// What the person approves must be exactly what is written.
		if ansi.Strip(painted[i]) != lines[i] {
			return plain
		}
	}
	return painted
}

// token paints one token.
func (v DiffView) token(kind chroma.TokenType, text string) string {
	// Few colours: the signs at the margin are what matters.
	switch {
	case kind.InCategory(chroma.Comment):
		return v.Palette.Dim(text)
	case kind.InCategory(chroma.Keyword):
		return v.Palette.Accent(text)
	case kind.InSubCategory(chroma.LiteralString):
		return v.Palette.Warn(text)
	case kind == chroma.NameFunction || kind == chroma.NameClass:
		return v.Palette.Bold(text)
	}
	return text
}
