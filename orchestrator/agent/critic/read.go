package critic

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
)

// Bounds on what is taken from one answer. A critic that says more has not chosen.
const (
	maxFindings = 20
	maxText     = 600 // bytes of a finding
	maxReason   = 300 // bytes of the reason for a missing opinion
	maxRead     = 64 << 10
	maxPath     = 400
	maxTries    = 500 // places of an answer at which JSON may begin
)

// errUnreadable is the error for an answer that could not be read.
var errUnreadable = errors.New("its answer holds no findings that could be read, and does not say that there are none")

// errCut is the error for an answer that breaks off.
var errCut = errors.New("its answer breaks off before the first finding ends")

// words maps the names that models use for the severities.
var words = map[string]Severity{
	"blocker": Blocker, "blocking": Blocker, "critical": Blocker, "fatal": Blocker, "severe": Blocker, "showstopper": Blocker,
	"major": Major, "high": Major, "error": Major, "bug": Major, "important": Major, "serious": Major,
	"minor": Minor, "medium": Minor, "moderate": Minor, "warning": Minor, "warn": Minor, "low": Minor,
	"nit": Nit, "nitpick": Nit, "trivial": Nit, "style": Nit, "info": Nit, "suggestion": Nit, "note": Nit,
}

// Read returns the findings of an answer, the worst first, at most [maxFindings]. known reports whether a finding may
// be about a path; a finding about another path is kept without it. A nil known accepts every path.
//
// The critic was asked for one JSON object, and Read is lenient: it accepts prose and fences around it, a bare list,
// one object after the other, other names for severities, lines as text, and a missing end. Without JSON, lines that
// begin with a severity are findings. An error says that nothing could be read; that is not a review, and never counts
// as one without findings.
func Read(answer string, known func(path string) bool) ([]Finding, error) {
	if len(answer) > maxRead {
		answer = strings.ToValidUTF8(answer[:maxRead], "")
	}
	list, said, whole := readJSON(answer)
	if len(list) == 0 {
		list = readLines(answer)
	}
	switch {
	case len(list) > 0 || said && whole:
	case said:
		return nil, errCut
	case !saysNone(answer):
		return nil, errUnreadable
	}
	for i := range list {
		f := &list[i]
		f.File = strings.TrimPrefix(strings.TrimSpace(f.File), "./")
		if f.File != "" && (len(f.File) > maxPath || clip(f.File, maxPath) != f.File || known != nil && !known(f.File)) {
			f.File, f.Line = "", 0
		}
		if f.File == "" || f.Line < 0 {
			f.Line = 0
		}
	}
	sortFindings(list)
	return list[:min(len(list), maxFindings)], nil
}

// sortFindings orders findings: the worst first, then by place.
func sortFindings(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		if d := a.Severity.rank() - b.Severity.rank(); d != 0 {
			return d
		}
		if d := strings.Compare(a.File, b.File); d != 0 {
			return d
		}
		return a.Line - b.Line
	})
}

// readJSON reads findings from the JSON of an answer. said reports whether there was a list, even an empty one, or a
// finding at all, and whole whether it was complete.
func readJSON(answer string) (list []Finding, said, whole bool) {
	if strings.Trim(answer, " \t\r\n`json") == "[]" { // elsewhere it may mean anything
		return nil, true, true
	}
	for at, tries := 0, 0; at < len(answer) && tries < maxTries; tries++ {
		i := strings.IndexAny(answer[at:], "{[")
		if i < 0 {
			break
		}
		at += i
		d := json.NewDecoder(strings.NewReader(answer[at:]))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			// A list that is cut off is recognized here; later turns of the loop read its whole objects one by one.
			said = said || listHead.MatchString(answer[at:min(len(answer), at+80)])
			at++
			continue
		}
		found, is := findings(v)
		list, said, whole = append(list, found...), said || is, whole || is
		at += int(d.InputOffset())
	}
	return list[:min(len(list), 4*maxFindings)], said, whole
}

// listHead matches how the requested object begins.
var listHead = lazyregexp.New(`^\{\s*"(?i:findings|issues|problems|comments|review)"\s*:`)

// findings reads a value that may be a finding, a list of findings, or an object with such a list. is reports whether
// the value is one of these.
func findings(v any) (list []Finding, is bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				continue
			}
			if f, ok := finding(m); ok {
				list, is = append(list, f), true
			}
		}
		return list, is
	case map[string]any:
		if f, ok := finding(v); ok {
			return []Finding{f}, true
		}
		for _, key := range []string{"findings", "issues", "problems", "comments", "review"} {
			if inner, ok := field(v, key); ok {
				if empty, ok := inner.([]any); key == "findings" && (inner == nil || ok && len(empty) == 0) {
					return nil, true
				}
				if l, is := findings(inner); is {
					return l, true
				}
			}
		}
	}
	return nil, false
}

// field returns a member of an object, whatever the case of its name.
func field(m map[string]any, names ...string) (any, bool) {
	for _, name := range names {
		if v, ok := m[name]; ok {
			return v, true
		}
		for key, v := range m {
			if strings.EqualFold(key, name) {
				return v, true
			}
		}
	}
	return nil, false
}

// finding reads one object; false if it has no text or no severity.
func finding(m map[string]any) (Finding, bool) {
	severity, _ := field(m, "severity", "level", "priority", "type")
	text, _ := field(m, "text", "message", "description", "comment", "issue", "finding", "title")
	s, ok := severity.(string)
	said, ok2 := text.(string)
	if _, placed := field(m, "file", "path", "filename"); !ok && severity == nil && placed {
		s, ok = string(Minor), true // the author left it out
	}
	if !ok || !ok2 {
		return Finding{}, false
	}
	f := Finding{Severity: severityOf(s), Text: clip(said, maxText)}
	if more, _ := field(m, "suggestion", "fix", "recommendation"); f.Text != "" {
		if s, ok := more.(string); ok && strings.TrimSpace(s) != "" {
			f.Text = clip(f.Text+" ("+s+")", maxText)
		}
	}
	file, _ := field(m, "file", "path", "filename", "location")
	f.File, _ = file.(string)
	line, _ := field(m, "line", "lines", "line_number", "start_line")
	f.Line = lineOf(line)
	if name, n, ok := cutLine(f.File); ok {
		f.File = name
		if f.Line == 0 {
			f.Line = n
		}
	}
	return f, f.Text != "" && f.Severity != ""
}

// severityOf reads a severity. An unknown one counts as minor, since its author thought it worth saying.
func severityOf(s string) Severity {
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if of, ok := words[w]; ok {
			return of
		}
	}
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return Minor
}

// lineOf reads a line: a number, a number as text, or the first of a range or a list.
func lineOf(v any) int {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Float64(); err == nil && n > 0 && n < 1e9 {
			return int(n)
		}
	case string:
		m := number.FindString(v)
		if n, err := strconv.Atoi(m); err == nil {
			return n
		}
	case []any:
		if len(v) > 0 {
			return lineOf(v[0])
		}
	}
	return 0
}

var (
	number = lazyregexp.New(`\d{1,7}`)
	placed = lazyregexp.New(`^(.+?):(\d{1,7})(?:[-:]\d+)?$`)
)

// cutLine splits the line off a place: "a.py:12".
func cutLine(place string) (file string, line int, ok bool) {
	m := placed.FindStringSubmatch(strings.TrimSpace(place))
	if m == nil {
		return "", 0, false
	}
	n, err := strconv.Atoi(m[2])
	return m[1], n, err == nil
}

// said matches a line of prose that is a finding: a severity in any formatting, an optional place, and the text.
var said = lazyregexp.New("(?i)^[\\s>*+#\\-\\d.)(]*[\\[(*_`]*(blocker|blocking|critical|major|high|minor|medium|low|nit|nitpick)\\b[\\])*_`]*\\s*(?:severity)?\\s*[:\\-–—|,]*\\s*(.+)$")

// place matches the file, with its line, that may begin the text of a finding.
var place = lazyregexp.New("^[\\[(*`\"']*([\\w@+.][\\w@+./ -]*\\.\\w{1,12}|[\\w./-]+/[\\w.-]+)(?:[:#]L?(\\d{1,7}))?(?:-L?\\d+)?[\\])*`\"']*(?:\\s*[,(]?\\s*line\\s+(\\d{1,7})\\)?)?\\s*[:\\-–—|,]+\\s*(.+)$")

// readLines reads findings from prose.
func readLines(answer string) (list []Finding) {
	for line := range strings.Lines(answer) {
		m := said.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || len(list) == maxFindings {
			continue
		}
		f := Finding{Severity: words[strings.ToLower(m[1])], Text: m[2]}
		if p := place.FindStringSubmatch(m[2]); p != nil {
			f.File, f.Text = p[1], p[4]
			f.Line, _ = strconv.Atoi(p[2] + p[3])
		}
		if f.Text = clip(strings.Trim(f.Text, "*_ "), maxText); f.Text != "" && !saysNone(f.Text) {
			list = append(list, f)
		}
	}
	return list
}

// none matches how an answer in prose says that nothing was found.
var none = lazyregexp.New(`(?i)^\W*(?:nothing|none|lgtm|looks good(?: to me)?|no (?:serious |major |blocking |other )?(?:findings|issues|problems|concerns|comments)(?: (?:were )?found)?|i (?:found|see|have) (?:no|nothing)\b[^.]*|the change (?:is|looks) (?:good|correct|fine))\W*$`)

// saysNone reports whether a short text says that there is nothing to find. A long text that says so somewhere may say
// more.
func saysNone(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxText {
		return false
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	return len(lines) > 0 && len(lines) <= 3 && (none.MatchString(lines[0]) || none.MatchString(lines[len(lines)-1]))
}

// clip returns a text on one line, without control characters and at most n bytes.
func clip(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	cut := strings.LastIndexByte(text[:n], ' ')
	if cut < n/2 {
		cut = n
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
	}
	return text[:cut] + "…"
}
