package guard

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"go/parser"
	goscanner "go/scanner"
	"go/token"
	"io"
	"path"
	"strings"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/explain"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lang"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
	shell "mvdan.cc/sh/v3/syntax"
)

// Limits on parsing; a file beyond them is left to the gates. A shell script is parsed recursively, at up to 4 KiB of stack for
// each bracket.
const (
	maxParsed       = 1 << 20 // bytes of a file
	maxShell        = 32 << 10
	maxShellOpening = 4 << 10 // opening brackets
)

// CheckSyntax refuses a result that no longer parses, for a file that did.
//
// Go, JSON, TOML, YAML, XML and shell scripts have a parser in the process. Python, JavaScript, TypeScript and CSS have none here
// that is safe on hostile input. For them only what their lexer is certain of counts: strings, comments, brackets and Python's
// indentation. The syntax gate in the box checks the rest.
//
// A file that did not parse before always passes: the edit may be one step of its repair, and the number of remaining steps is
// unknown here.
func CheckSyntax(d *document.Document, ops []*parse.Operation, after string) *problem.Problem {
	check := parserOf(d.Path)
	if check == nil || len(after) > maxParsed || len(d.Text) > maxParsed {
		return nil
	}
	if path.Ext(d.Path) != ".json" && (!parsable(after) || !parsable(d.Text)) { // JSON is read without a tree
		return nil
	}
	text := strings.TrimPrefix(after, lex.BOM)
	f := check(text)
	if f == nil || check(d.Text) != nil {
		return nil
	}
	now := document.New(d.Path, []byte(text))
	line, column := position(now, f.At)
	p := &problem.Problem{
		Path: d.Path, Kind: problem.KindRefused, Lines: []int{line},
		Reason:  fmt.Sprintf("the file would no longer parse: %d:%d %s", line, column, f.Why),
		Nearest: explain.Around(now, line),
		Advice:  "the lines above are those of the result: send the change whole, with every bracket, string and block that it opens closed, or leave it out",
	}
	if len(ops) == 1 { // it is unknown which of several is at fault
		p.Block = ops[0].Block
	}
	return p
}

// position returns the line and the column, both from 1, of a byte of the text.
func position(d *document.Document, at int) (line, column int) {
	at = min(max(at, 0), len(d.Text))
	for line < d.Len()-1 && int(d.Off[line+1]) <= at {
		line++
	}
	return line + 1, at - int(d.Off[line]) + 1
}

// A check returns where a text cannot be parsed, or nil if it can.
type check func(text string) *lex.Fault

// parserOf returns the check for a file by its name, or nil if there is none. The extension decides, ignoring case: "A.JSON" is
// JSON.
func parserOf(name string) check {
	row := lang.ByExtension(name)
	if row == nil {
		return nil
	}
	switch row.ID {
	case "go":
		return goFault
	case "json":
		if commentedJSON(name, strings.ToLower(path.Base(name))) {
			return nil
		}
		return jsonObjection
	case "toml":
		return contained(tomlFault)
	case "yaml":
		return contained(yamlFault)
	case "xml":
		return contained(xmlFault)
	case "shell":
		return contained(shellFault)
	case "python":
		return pythonFault
	}
	if g := lex.GrammarOf(name); g != lex.NoGrammar {
		return func(text string) *lex.Fault { return balanceFault(text, g) }
	}
	return nil
}

// contained treats a panic of a parser as no objection: those parsers are third-party code, and their input comes from a model. A
// crash there says nothing about the edit, and must not end the process.
func contained(c check) check {
	return func(text string) (f *lex.Fault) {
		defer func() {
			if recover() != nil {
				f = nil
			}
		}()
		return c(text)
	}
}

// goFault parses Go; the parser bounds its own depth. Only the syntax is checked here: resolving names is left to the compiler.
func goFault(text string) *lex.Fault {
	_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	var list goscanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &lex.Fault{At: list[0].Pos.Offset, Why: list[0].Msg}
	}
	return nil
}

// commentedJSON reports whether the readers of a file allow comments in its JSON, as some editors and tools do. A parser that
// rejects comments cannot judge such a file, and one that accepts them would pass a comment in package.json.
func commentedJSON(name, base string) bool {
	for _, s := range []string{"tsconfig", "jsconfig", ".eslintrc", "devcontainer", "settings", "launch", "tasks", "extensions", "api-extractor"} {
		if strings.HasPrefix(base, s) {
			return true
		}
	}
	return strings.Contains(name, ".vscode/")
}

// jsonObjection parses one JSON value. The offset of its error counts the bytes read, including the invalid one.
func jsonObjection(text string) *lex.Fault {
	var bad *json.SyntaxError
	var value json.RawMessage
	if errors.As(json.Unmarshal([]byte(text), &value), &bad) {
		return &lex.Fault{At: int(bad.Offset) - 1, Why: bad.Error()}
	}
	return nil
}

// tomlFault parses TOML; a duplicate key is an error too.
func tomlFault(text string) *lex.Fault {
	var value map[string]any
	err := toml.Unmarshal([]byte(text), &value)
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &bad):
		line, column := bad.Position()
		return &lex.Fault{At: offsetOf(text, line) + column - 1, Why: strings.TrimPrefix(bad.Error(), "toml: ")}
	case err != nil:
		return &lex.Fault{At: 0, Why: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	return nil
}

// yamlFault parses all documents of a YAML file. It skips a template that generates YAML, since that is not YAML yet: "{{" and "{%"
// mark it.
//
// The parser gives the line of a fault within its message, "yaml: line 3: ...", and sometimes gives none. yamlFault removes the
// line from the message, since the refusal names it separately.
func yamlFault(text string) *lex.Fault {
	if strings.Contains(text, "{{") || strings.Contains(text, "{%") {
		return nil
	}
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var node yaml.Node
		err := d.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			line := 1
			why := strings.TrimPrefix(err.Error(), "yaml: ")
			if n, _ := fmt.Sscanf(why, "line %d:", &line); n == 1 {
				_, why, _ = strings.Cut(why, ": ")
			}
			return &lex.Fault{At: offsetOf(text, line), Why: why}
		}
	}
}

// xmlFault reads all elements of an XML document, with the entities of HTML, since documents declare entities in a DTD that is not
// available. Bytes in an encoding other than UTF-8 pass unchanged: markup is ASCII in the encodings in use.
func xmlFault(text string) *lex.Fault {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		_, err := d.Token()
		var bad *xml.SyntaxError
		if errors.As(err, &bad) {
			return &lex.Fault{At: int(d.InputOffset()) - 1, Why: bad.Msg}
		}
		if err != nil {
			return nil
		}
	}
}

// shellFault parses a script as bash does, which accepts nearly everything that other shells accept. It does not judge a long
// script, or one with many brackets: this parser recurses without a bound, and a stack overflow ends the process.
func shellFault(text string) *lex.Fault {
	if len(text) > maxShell || strings.Count(text, "(") > maxShellOpening {
		return nil
	}
	_, err := shell.NewParser(shell.Variant(shell.LangBash)).Parse(bytes.NewReader([]byte(text)), "")
	var bad shell.ParseError
	if errors.As(err, &bad) {
		return &lex.Fault{At: int(bad.Pos.Offset()), Why: bad.Text}
	}
	return nil
}

// offsetOf returns where a line, from 1, begins; for a line beyond the end it returns where the last line begins.
func offsetOf(text string, line int) (at int) {
	for ; line > 1; line-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return at
}

// balanceFault reads a text to its end for its brackets, strings and comments.
//
// The text before an element distinguishes it from a comparison. If the two readings disagree, a text that is sound in one of them
// counts as sound: "f(a < b, c > d)" need not be an element that is never closed.
func balanceFault(text string, lang lex.Grammar) *lex.Fault {
	l := lex.NewLexer(text, lang)
	for l.Next().Kind != lex.TokenEnd {
	}
	if l.Fault == nil || l.Unsure {
		return nil
	}
	if lang == lex.MarkupGrammar {
		if balanceFault(text, lex.ScriptGrammar) == nil {
			return nil
		}
	}
	return l.Fault
}

// pythonFault checks the brackets and strings of Python, and that its lines are indented by the rules of the language: deeper
// exactly after a colon, and back only to where a block began.
//
// Python has separate rules for mixing spaces and tabs in one file; such a file is skipped. Blank lines, comments and the contents
// of brackets or strings have no indentation of their own: there the lexer returns no token that begins a line.
func pythonFault(text string) *lex.Fault {
	l := lex.NewLexer(text, lex.PythonGrammar)
	// opened: the line before ended in a colon. begins: the next token is the first of its line.
	levels, opened, begins := []int{0}, false, true
	tabs, spaces := false, false
	for last := (lex.Lexeme{}); ; {
		t := l.Next()
		if t.Kind == lex.TokenEnd {
			break
		}
		if t.Kind == lex.TokenLine {
			begins, opened = true, last.Kind == lex.TokenPunct && text[last.Lo] == ':'
			continue
		}
		last = t
		if !begins {
			continue
		}
		begins = false
		lead := text[strings.LastIndexAny(text[:t.Lo], "\r\n")+1 : t.Lo]
		tabs, spaces = tabs || strings.Contains(lead, "\t"), spaces || strings.Contains(lead, " ")
		if tabs && spaces || strings.Trim(lead, " \t") != "" {
			return nil
		}
		var why string
		if levels, why = settle(levels, len(lead), opened); why != "" {
			return &lex.Fault{At: t.Lo, Why: why}
		}
	}
	if l.Fault == nil && opened {
		return &lex.Fault{At: len(text), Why: "an indented block is missing at the end"}
	}
	return l.Fault
}

// settle adds a line that is indented by n to the levels of the open blocks; opened tells that the line before it ended in a colon.
func settle(levels []int, n int, opened bool) (now []int, why string) {
	top := levels[len(levels)-1]
	switch {
	case n > top && !opened:
		return levels, "unexpected indentation"
	case n > top:
		return append(levels, n), ""
	case opened:
		return levels, "an indented block is missing"
	}
	for n < levels[len(levels)-1] {
		levels = levels[:len(levels)-1]
	}
	if n != levels[len(levels)-1] {
		return levels, "the line is indented like no block around it"
	}
	return levels, ""
}

// maxTokens bounds the tokens of a text that is parsed: a syntax tree costs some hundred bytes per token, and some parsers take
// more than linear time.
const maxTokens = 1 << 16

// parsable reports whether a text is short and simple enough to be parsed in the process.
func parsable(text string) bool {
	if len(text) > maxParsed {
		return false
	}
	n := 0
	for at := 0; at < len(text) && n <= maxTokens; {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		lex.EachToken(text[at:end], func(string) { n++ })
		at = end
	}
	return n <= maxTokens
}
