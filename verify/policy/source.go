package policy

import (
	"path"
	"slices"
	"strings"
)

// A language is how the text of a file is told apart into code, strings and
// comments; the zero value is text in which nothing is looked for.
type language string

// The languages in which weakenings are known.
const (
	python language = "python"
	script language = "script" // JavaScript and TypeScript
	golang language = "go"
	shell  language = "shell"
	css    language = "css"
	markup language = "markup" // HTML, and components that hold script and style
	rust   language = "rust"
	java   language = "java"
)

// languageEnds are the ends of file names by language.
var languageEnds = map[string]language{
	".py": python, ".pyi": python, ".pyw": python,
	".js": script, ".jsx": script, ".mjs": script, ".cjs": script, ".ts": script, ".tsx": script, ".mts": script, ".cts": script,
	".go": golang, ".sh": shell, ".bash": shell, ".zsh": shell, ".ksh": shell, ".bats": shell,
	".css": css, ".scss": css, ".sass": css, ".less": css,
	".html": markup, ".htm": markup, ".vue": markup, ".svelte": markup, ".astro": markup,
	".rs": rust, ".java": java, ".kt": java, ".kts": java,
}

// languageOf tells the language by the name of a file, and for a program
// without an extension by its first line.
func languageOf(name, text string) language {
	ext := strings.ToLower(path.Ext(name))
	if lang, ok := languageEnds[ext]; ok || ext != "" || !strings.HasPrefix(text, "#!") {
		return lang
	}
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.Contains(first, "python"):
		return python
	case strings.Contains(first, "node"):
		return script
	case strings.HasSuffix(strings.TrimSpace(first), "sh"):
		return shell
	}
	return ""
}

// A sourceLine is one line told apart.
type sourceLine struct {
	// The line as it stands.
	raw string
	// The line without comments, and with an empty string for each literal.
	code string
	// Its comments, each with the mark that opens it. The lines of a longer
	// comment after the first have none, unless nothing stood before them.
	notes []string
	// The line begins within a string.
	inside bool
}

// A lexer tells a text apart in one pass. It knows as much of the languages as
// finding comments takes, and resumes at the next line where it does not
// understand: text is hostile or unfinished as often as not.
type lexer struct {
	lang  language
	text  string
	at    int // what is read next
	lines []sourceLine
	// Of the line being read.
	begin  int
	code   []byte
	notes  []string
	inside bool
	filled bool // there is code on it
	// The depth of braces in each template literal that is open around the
	// code being read, and whether its text is being read.
	templates []int
	quoted    bool
	// Whether the word before each open parenthesis is one after which an
	// expression begins anew: what a slash means depends on it.
	parens  []bool
	control bool
	last    byte // the last byte of code that is no space
	// For each mark that was found to have no end before a place: that place.
	// Without it a line of a million quotes is searched a million times.
	endless map[byte]int
}

// lex tells a text apart. A template literal without an end means that some
// backtick was none, so then none is taken for one.
func lex(lang language, text string) []sourceLine {
	// Python and JavaScript end a line, and with it a comment, at a lone
	// carriage return too.
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	text = strings.TrimPrefix(text, "\ufeff")
	l := &lexer{lang: lang, text: text, endless: map[byte]int{}}
	l.run()
	if lang == script && len(l.templates) > 0 {
		l = &lexer{lang: lang, text: text, endless: map[byte]int{'`': len(text)}}
		l.run()
	}
	return l.lines
}

// run reads to the end.
func (l *lexer) run() {
	for l.at < len(l.text) {
		if l.quoted {
			l.template()
		} else if !l.comment() && !l.literal() {
			l.plain()
		}
	}
	if l.begin < len(l.text) {
		l.flush(len(l.text))
	}
}

// flush ends a line at a place.
func (l *lexer) flush(end int) {
	l.lines = append(l.lines, sourceLine{l.text[l.begin:end], string(l.code), l.notes, l.inside})
	l.begin, l.code, l.notes, l.inside, l.filled = end+1, l.code[:0], nil, false, false
}

// plain reads one byte of code.
func (l *lexer) plain() {
	c := l.text[l.at]
	l.at++
	switch c {
	case '\n':
		l.flush(l.at - 1)
		return
	case '(':
		l.parens = append(l.parens, slices.Contains([]string{"if", "while", "for", "with"}, l.word()))
	case ')':
		l.control = false
		if n := len(l.parens); n > 0 {
			l.control, l.parens = l.parens[n-1], l.parens[:n-1]
		}
	case '{', '}':
		if n := len(l.templates); n > 0 && c == '{' {
			l.templates[n-1]++
		} else if n > 0 && l.templates[n-1] == 0 {
			l.quoted = true
			return
		} else if n > 0 {
			l.templates[n-1]--
		}
	}
	l.code = append(l.code, c)
	if !isSpace(c) {
		l.last, l.filled = c, true
	}
}

// word returns the word that the code read so far ends with.
func (l *lexer) word() string {
	code := strings.TrimRight(string(l.code[max(0, len(l.code)-12):]), " \t")
	i := strings.LastIndexFunc(code, func(r rune) bool { return !isWord(r) })
	return code[i+1:]
}

// isWord reports whether a rune is part of a name.
func isWord(r rune) bool {
	return r == '_' || r == '$' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// isSpace reports whether a byte is white space of any sort that code has.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\v' }

// commentMarks are what opens a comment in each language, with what ends it:
// nothing for the end of the line.
var commentMarks = map[language][][2]string{
	python: {{"#", ""}},
	script: {{"//", ""}, {"/*", "*/"}},
	golang: {{"//", ""}, {"/*", "*/"}},
	shell:  {{"#", ""}},
	css:    {{"//", ""}, {"/*", "*/"}},
	markup: {{"<!--", "-->"}, {"//", ""}, {"/*", "*/"}},
	rust:   {{"//", ""}, {"/*", "*/"}},
	java:   {{"//", ""}, {"/*", "*/"}},
}

// comment reads a comment, when one begins here.
func (l *lexer) comment() bool {
	for _, mark := range commentMarks[l.lang] {
		if !strings.HasPrefix(l.text[l.at:], mark[0]) {
			continue
		}
		// Both are plain text too: $#, and https://.
		if l.lang == shell && l.filled || (l.lang == markup || l.lang == css) && mark[0] == "//" && l.at > 0 && !isSpace(l.text[l.at-1]) {
			continue
		}
		end := l.lineEnd()
		if mark[1] != "" {
			end = len(l.text)
			if i := strings.Index(l.text[l.at+len(mark[0]):], mark[1]); i >= 0 {
				end = l.at + len(mark[0]) + i + len(mark[1])
			}
		}
		l.note(mark[0], end)
		return true
	}
	return false
}

// note keeps the text up to end as comments of the lines that it stands on.
// A mark that stands alone on its line is repeated on the next.
func (l *lexer) note(mark string, end int) {
	rest := l.text[l.at+len(mark) : end]
	for {
		line, after, more := strings.Cut(rest, "\n")
		l.notes = append(l.notes, mark+line)
		if !more {
			break
		}
		if strings.Trim(line, "* \t") != "" {
			mark = ""
		}
		l.flush(end - len(after) - 1)
		rest = after
	}
	l.at = end
}

// lineEnd returns where the line being read ends.
func (l *lexer) lineEnd() int {
	if i := strings.IndexByte(l.text[l.at:], '\n'); i >= 0 {
		return l.at + i
	}
	return len(l.text)
}

// literal reads a string, or a regular expression, when one begins here and
// ends where it may.
func (l *lexer) literal() bool {
	c := l.text[l.at]
	if !strings.ContainsRune("'\"`/", rune(c)) || l.at < l.endless[c] || l.lang == shell || l.lang == markup {
		return false
	}
	end := -1
	switch {
	case c == '/' && l.lang == script && l.mayMatch():
		end = l.closing(c)
	case c == '/' || c == '`' && l.lang != golang && l.lang != script:
		return false
	case c == '`' && l.lang == script:
		l.templates, l.quoted = append(l.templates, 0), true
		l.at++
		l.code, l.last = append(l.code, '"', '"'), '"'
		return true
	case c == '`':
		if i := strings.IndexByte(l.text[l.at+1:], '`'); i >= 0 {
			end = l.at + i + 2
		}
	case (l.lang == python || l.lang == java) && strings.HasPrefix(l.text[l.at:], strings.Repeat(string(c), 3)):
		end = l.tripleEnd(c)
	default:
		end = l.closing(c)
	}
	if end < 0 {
		return false
	}
	l.code, l.last = append(l.code, '"', '"'), '"'
	l.within(end)
	return true
}

// within passes the text of a string up to end.
func (l *lexer) within(end int) {
	for ; l.at < end; l.at++ {
		if l.text[l.at] == '\n' {
			l.flush(l.at)
			l.inside = true
		}
	}
}

// closing returns the place after the mark that closes what the same mark
// opens here on one line, or -1. A backslash takes the next byte with it, be
// it the end of the line; a slash in brackets closes nothing.
func (l *lexer) closing(mark byte) int {
	class, i := false, l.at+1
	for ; i < len(l.text) && l.text[i] != '\n'; i++ {
		switch c := l.text[i]; {
		case c == '\\':
			i++
		case mark == '/' && c == '[':
			class = true
		case c == ']':
			class = false
		case c == mark && !class:
			return i + 1
		}
	}
	l.endless[mark] = i
	return -1
}

// tripleEnd returns the place after the three marks that close a long string,
// or -1.
func (l *lexer) tripleEnd(mark byte) int {
	close := strings.Repeat(string(mark), 3)
	for i := l.at + 3; i < len(l.text); i++ {
		if l.text[i] == '\\' {
			i++
		} else if l.text[i] == mark && strings.HasPrefix(l.text[i:], close) {
			return i + 3
		}
	}
	l.endless[mark] = len(l.text)
	return -1
}

// mayMatch reports whether a slash here opens a regular expression: it divides
// after a value, and closes a tag after "<" and before ">".
func (l *lexer) mayMatch() bool {
	switch {
	case l.last == '<' || strings.HasPrefix(l.text[l.at:], "/>"):
		return false
	case l.last == ')':
		return l.control
	case l.last == '>':
		return strings.HasSuffix(strings.TrimRight(string(l.code[max(0, len(l.code)-8):]), " \t"), "=>")
	case l.last == ']' || l.last == '"':
		return false
	case isWord(rune(l.last)):
		return slices.Contains([]string{"return", "typeof", "case", "in", "of", "delete", "void", "throw", "yield", "await", "else", "do"}, l.word())
	}
	return true
}

// template reads the text of a template literal to its end or to the code in
// it.
func (l *lexer) template() {
	for ; l.at < len(l.text); l.at++ {
		switch c := l.text[l.at]; {
		case c == '\n':
			l.flush(l.at)
			l.inside = true
		case c == '\\' && l.at+1 < len(l.text) && l.text[l.at+1] != '\n':
			l.at++
		case c == '`':
			l.at++
			l.templates, l.quoted = l.templates[:len(l.templates)-1], false
			return
		case c == '$' && strings.HasPrefix(l.text[l.at:], "${"):
			l.at += 2
			l.quoted = false
			return
		}
	}
}
