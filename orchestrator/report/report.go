package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// A Status is the judgement of an analyzer, or the gravity of a detail.
type Status string

// The statuses; a detail has one of the first three.
const (
	Fail    Status = "fail"    // something is missing or broken
	Warn    Status = "warn"    // something should be fixed
	Note    Status = "note"    // something could be better; only for a detail
	Pass    Status = "pass"    // there is nothing to fix; only for an analyzer
	Unknown Status = "unknown" // a part was not measured, and nothing else is worse
	None    Status = "none"    // the workspace has no subject for it
)

// gravity orders details, the gravest first.
var gravity = map[Status]int{Fail: 0, Warn: 1, Note: 2}

// MaxDetails is how many details a row keeps, the gravest first.
const MaxDetails = 50

// A Report describes the state of a workspace.
type Report struct {
	// Score is the mean of the rows that have a score; null if none has.
	Score *float64 `json:"score"`
	// Rows are the rows of the requested analyzers, in the order of the table.
	Rows []Row `json:"analyzers"`
}

// A Row is the result of one analyzer.
type Row struct {
	Analyzer string `json:"analyzer"`
	Status   Status `json:"status"`
	// Score is from 0 to 1, with two decimals; null if a part was not measured or there is no subject.
	Score *float64 `json:"score"`
	// Before is the last recorded score of the same workspace, or null.
	Before *float64 `json:"before"`
	// Summary is one line about what was seen.
	Summary string `json:"summary"`
	// Details are what to do, the gravest first; at most 50.
	Details []Detail `json:"details"`
	// More counts the details that are left out.
	More int `json:"more"`
	// Unmeasured says what was not measured, and why, one sentence for each.
	Unmeasured []string `json:"unmeasured"`
}

// A Detail is one thing to do.
type Detail struct {
	Status Status `json:"status"`
	// File is relative to the workspace, or "".
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 means the whole file.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	// Next is what to do.
	Next string `json:"next"`
}

// An Analyzer is one row of the table.
type Analyzer struct {
	// Name is the value for --only; About is one line about what is examined.
	Name, About string
	// none says why a workspace has no subject for it, or "" if it has one; nil if it always has.
	none  func(f *Facts) string
	parts []part
}

// A part is one term of a score.
type part struct {
	weight float64
	// gates are the gates whose results it reads; ledger says that it reads the ledger.
	gates  []string
	ledger bool
	value  func(f *Facts) value
}

// A value is the result of a part.
type value struct {
	// From 0 to 1.
	score float64
	// It has no subject and does not count.
	idle bool
	// Why it was not measured, "" if it was.
	unmeasured string
	details    []Detail
	// A few words for the summary.
	words string
}

// Needs says which facts analyzers need besides the files: the names of gates, and the ledger. An empty list means all analyzers.
func Needs(only []string) (gates []string, ledger bool) {
	for _, a := range table {
		if len(only) > 0 && !slices.Contains(only, a.Name) {
			continue
		}
		for _, p := range a.parts {
			gates, ledger = append(gates, p.gates...), ledger || p.ledger
		}
	}
	slices.Sort(gates)
	return slices.Compact(gates), ledger
}

// Names lists the analyzers in their order.
func Names() (names []string) {
	for _, a := range table {
		names = append(names, a.Name)
	}
	return names
}

// Analyzers returns a copy of the table. Its parts are shared: callers must not change them.
func Analyzers() []Analyzer { return slices.Clone(table) }

// Weights returns the weights of its parts, in their order.
func (a Analyzer) Weights() string {
	var list []string
	for _, p := range a.parts {
		list = append(list, fmt.Sprint(p.weight))
	}
	return strings.Join(list, " ")
}

// Analyze runs the analyzers named in only, or all if it is empty. It ignores unknown names.
func Analyze(f Facts, only []string) Report {
	r := Report{Rows: []Row{}}
	sum, n := 0.0, 0
	for _, a := range table {
		if len(only) > 0 && !slices.Contains(only, a.Name) {
			continue
		}
		row := a.row(&f)
		r.Rows = append(r.Rows, row)
		if row.Score != nil {
			sum, n = sum+*row.Score, n+1
		}
	}
	if n > 0 {
		r.Score = rounded(sum / float64(n))
	}
	return r
}

// rounded returns a score with two decimals, rounded down so that only a full score is 1.
func rounded(x float64) *float64 {
	y := math.Floor(x*100+1e-9) / 100
	return &y
}

// row runs one analyzer.
func (a Analyzer) row(f *Facts) Row {
	row := Row{Analyzer: a.Name, Status: Pass, Details: []Detail{}, Unmeasured: []string{}}
	if a.none != nil {
		if why := a.none(f); why != "" {
			row.Status, row.Summary = None, why
			return row
		}
	}
	sum, weight := 0.0, 0.0
	var words []string
	for _, p := range a.parts {
		v := p.value(f)
		row.Details = append(row.Details, v.details...)
		if v.words != "" {
			words = append(words, v.words)
		}
		switch {
		case v.unmeasured != "":
			row.Unmeasured = append(row.Unmeasured, line(v.unmeasured))
		case !v.idle:
			sum, weight = sum+p.weight*min(max(v.score, 0), 1), weight+p.weight
		}
	}
	row.finish(words)
	switch {
	case len(row.Unmeasured) > 0:
	case weight > 0:
		row.Score = rounded(sum / weight)
	case row.Status == Pass:
		row.Status, row.Summary = None, "nothing in it to judge"
	}
	return row
}

// finish sorts the details and derives the status from them.
func (row *Row) finish(words []string) {
	for i, d := range row.Details {
		d.Message, d.Next, d.File = line(d.Message), line(d.Next), plainPath(d.File)
		row.Details[i] = d
	}
	slices.SortStableFunc(row.Details, func(a, b Detail) int {
		return cmp.Or(gravity[a.Status]-gravity[b.Status], strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Message, b.Message))
	})
	row.Details = slices.Compact(row.Details)
	if len(row.Unmeasured) > 0 {
		row.Status = Unknown
	}
	if len(row.Details) > 0 && row.Details[0].Status != Note {
		row.Status = row.Details[0].Status
	}
	row.More = max(len(row.Details)-MaxDetails, 0)
	row.Details = row.Details[:len(row.Details)-row.More]
	row.Summary = line(strings.Join(words, ", "))
}

// maxLine bounds a text in a detail, in bytes.
const maxLine = 300

// line returns a text as one bounded line, without control characters and marks that change the direction of text.
func line(s string) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "") + "…"
	}
	return s
}

// plainPath returns a path as it may be printed: complete, since somebody will open it.
func plainPath(p string) string { return strings.ReplaceAll(plain(p), "\n", "␊") }

// plain replaces what a terminal would interpret.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029':
			return '␛'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// whole returns a value of 1 with words for the summary.
func whole(words string) value { return value{score: 1, words: words} }

// lacks returns a value of 0 for one reason.
func lacks(d Detail) value { return value{details: []Detail{d}} }

// share returns the share of good items among all; idle if there are none.
func share(bad, all int, details []Detail) value {
	if all == 0 {
		return value{idle: true, details: details}
	}
	return value{score: float64(all-bad) / float64(all), details: details}
}

// A mean averages the values of single files. Thus a file that cannot be read, whose value is 0, hides nothing that
// would weigh more once it can be read.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

// value returns the mean with details; idle without files.
func (m mean) value(details []Detail) value {
	if m.n == 0 {
		return value{idle: true, details: details}
	}
	return value{score: m.sum / float64(m.n), details: details}
}

// falling returns a value that the first fault halves, and that falls with each further one.
func falling(n int) float64 { return 1 / float64(1+n) }

// some words a number of things: "1 file", "3 files".
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A Kept is a report with what the record adds.
type Kept struct {
	// ID is unique; a report is recorded once.
	ID string
	// Workspace is an absolute path; Snapshot is the digest of what was examined.
	Workspace, Snapshot string
	// Fast says that nothing ran in boxes.
	Fast   bool
	Report Report
}

// With returns the report with each analyzer's earlier score, by its name.
func (r Report) With(before map[string]float64) Report {
	r.Rows = slices.Clone(r.Rows)
	for i := range r.Rows {
		if x, ok := before[r.Rows[i].Analyzer]; ok {
			r.Rows[i].Before = &x
		}
	}
	return r
}

// Hidden returns the report with its texts as hide returns them, without the configured secrets; nil hides nothing. The
// rest of a path still names its file.
func (r Report) Hidden(hide func(string) string) Report {
	if hide == nil {
		return r
	}
	r.Rows = slices.Clone(r.Rows)
	for i, row := range r.Rows {
		row.Summary, row.Details, row.Unmeasured = hide(row.Summary), slices.Clone(row.Details), slices.Clone(row.Unmeasured)
		for k, d := range row.Details {
			row.Details[k].File, row.Details[k].Message, row.Details[k].Next = hide(d.File), hide(d.Message), hide(d.Next)
		}
		for k, why := range row.Unmeasured {
			row.Unmeasured[k] = hide(why)
		}
		r.Rows[i] = row
	}
	return r
}

// Count counts the details by gravity. Details that were left out are never graver than the kept ones, and count as
// grave as the last of those.
func (row Row) Count() (fails, warns, notes int) {
	count := map[Status]int{}
	for _, d := range row.Details {
		count[d.Status]++
	}
	if n := len(row.Details); n > 0 {
		count[row.Details[n-1].Status] += row.More
	}
	return count[Fail], count[Warn], count[Note]
}

// Worst returns the gravest status among the rows: Fail, Warn, Unknown, or Pass if none of these occurs.
func (r Report) Worst() Status {
	for _, s := range []Status{Fail, Warn, Unknown} {
		if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Status == s }) {
			return s
		}
	}
	return Pass
}
