// Package problem says why a response was not applied: one problem per block, and the refusal that lists them all with what is left
// to send.
//
// It owns the kinds of problem, the text of a refusal and its bounds. It knows neither files nor forms: the packages that find a
// problem say what is wrong and which lines show it.
package problem

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Problem describes why one block was not applied.
type Problem struct {
	Block   int    `json:"block"`             // from 1; 0 when the response as a whole is at fault
	Path    string `json:"path,omitempty"`    // "" if the file could not be determined
	Kind    string `json:"kind"`              // parse, truncated, not_found, ambiguous, stale, already_applied, noop, overlap, path, exists or refused
	Reason  string `json:"reason"`            // one sentence, no final full stop
	Lines   []int  `json:"lines,omitempty"`   // for ambiguous: where it matched; for not_found: the nearest places
	Nearest string `json:"nearest,omitempty"` // the nearest lines of the file, with line numbers
	Differs string `json:"differs,omitempty"` // how the block's lines differ from those, token by token
	Advice  string `json:"advice,omitempty"`  // what to send instead
	Other   int    `json:"other,omitempty"`   // for overlap: the block to merge this one with
}

// The kinds of problem.
const (
	KindParse     = "parse"           // the response is not in any known form
	KindTruncated = "truncated"       // the response was cut off
	KindNotFound  = "not_found"       // SEARCH, or the file, is nowhere
	KindAmbiguous = "ambiguous"       // SEARCH is in several places
	KindStale     = "stale"           // most of SEARCH is there, but the file has changed
	KindAlready   = "already_applied" // REPLACE is there and SEARCH is not
	KindNoop      = "noop"            // no change is requested
	KindOverlap   = "overlap"         // two operations change the same lines or file
	KindPath      = "path"            // the path may not be written
	KindExists    = "exists"          // a file to create already exists
	KindRefused   = "refused"         // a rule forbids it
)

// A Refusal explains why a response was not applied.
//
// It is one structure for both readers. The text goes back to the model unchanged, and a terminal shows the same text; the JSON of a
// run holds the fields. It can hold lines of the workspace, so a caller that passes it on must be allowed to see those.
type Refusal struct {
	Problems []Problem `json:"problems"`         // by block; those of the whole response first
	Staged   []int     `json:"staged,omitempty"` // blocks that matched and would have been applied, to be sent again as they are
}

// Error lists every problem with the nearest lines, as text for a person and for a model, at most 16 KiB long. Problems beyond that
// are given without the lines, then only counted.
//
// It cuts the later problems instead of shortening all of them: an author who corrects the first ones from whole lines gets the
// others whole in the next round.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("nothing was applied")
	for i, p := range r.Problems {
		text := p.text(true)
		if b.Len()+len(text) > shownAll {
			text = p.text(false)
		}
		if b.Len()+len(text) > shownAll {
			fmt.Fprintf(&b, "\n%d more problems: correct these first", len(r.Problems)-i)
			break
		}
		b.WriteString(text)
	}
	b.WriteString(Clip(r.rest(), 512))
	// A diff quotes paths byte by byte, so a path may be invalid text.
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// Hidden returns a copy of r whose texts that quote the files and the response are replaced by what hide returns for them.
func (r *Refusal) Hidden(hide func(string) string) *Refusal {
	hidden := *r
	hidden.Problems = slices.Clone(r.Problems)
	for i, p := range hidden.Problems {
		p.Reason, p.Nearest, p.Differs, p.Advice = hide(p.Reason), hide(p.Nearest), hide(p.Differs), hide(p.Advice)
		hidden.Problems[i] = p
	}
	return &hidden
}

// rest says what to do with the blocks that are sound, or that none are left.
//
// Without it an author may rephrase sound blocks in the second attempt, and trade one refusal for another. A block that is already
// applied or changes nothing is no reason to send anything.
func (r *Refusal) rest() string {
	open := slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Block == 0 || p.Kind != KindAlready && p.Kind != KindNoop })
	switch {
	case len(r.Staged) == 0 && open:
		return ""
	case len(r.Staged) == 0:
		return "\nnothing is left to send"
	}
	end := ""
	if open {
		end = " with the corrected ones"
	}
	return fmt.Sprintf("\n%s as sent and would apply: repeat %s unchanged%s", count(r.Staged), Plural(len(r.Staged), "it", "them"), end)
}

// text renders one problem: block, file, reason, the nearest lines and how they differ, advice. If whole is false it leaves the
// lines out.
func (p Problem) text(whole bool) string {
	var b strings.Builder
	switch {
	case p.Block > 0 && p.Path != "":
		fmt.Fprintf(&b, "\nblock %d, %s: ", p.Block, p.Path)
	case p.Block > 0:
		fmt.Fprintf(&b, "\nblock %d: ", p.Block)
	case p.Path != "":
		fmt.Fprintf(&b, "\n%s: ", p.Path)
	default:
		b.WriteString("\n")
	}
	if kind := strings.ReplaceAll(p.Kind, "_", " "); !strings.HasPrefix(p.Reason, kind) {
		b.WriteString(kind + ": ")
	}
	b.WriteString(p.Reason)
	if whole {
		for _, part := range []string{p.Nearest, p.Differs} {
			if part != "" {
				b.WriteString("\n" + strings.TrimSuffix(part, "\n"))
			}
		}
	}
	if p.Advice != "" {
		b.WriteString("\n  → " + p.Advice)
	}
	return b.String()
}

// count names blocks: "block 2 matches", "blocks 1, 3 to 9 match". It joins only three or more in a row: "1 to 2" is no shorter.
func count(blocks []int) string {
	var names []string
	for i := 0; i < len(blocks); {
		j := i + 1
		for j < len(blocks) && blocks[j] == blocks[j-1]+1 {
			j++
		}
		if j-i > 2 {
			names = append(names, fmt.Sprintf("%d to %d", blocks[i], blocks[j-1]))
			i = j
			continue
		}
		names = append(names, fmt.Sprint(blocks[i]))
		i++
	}
	return Plural(len(blocks), "block ", "blocks ") + strings.Join(names, ", ") + Plural(len(blocks), " matches", " match")
}

// Plural returns one if n is 1, otherwise many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Refuse returns a refusal of the response as a whole.
func Refuse(p Problem) *Refusal { return &Refusal{Problems: []Problem{p}} }

// NewRefusal sorts the problems by block and lists the blocks without one as staged.
//
// A problem without a block concerns the whole response: then nothing is known about the individual blocks, and none is called
// sound. Nor is a block that another one is to be merged with.
func NewRefusal(blocks []int, problems []Problem) *Refusal {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Block - b.Block })
	for i := range problems {
		if i >= MaxQuoted {
			problems[i].Nearest, problems[i].Differs = "", ""
		}
	}
	r := &Refusal{Problems: problems}
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == 0 }) {
		return r
	}
	for _, n := range blocks {
		bad := slices.ContainsFunc(problems, func(p Problem) bool { return p.Block == n || p.Other == n })
		if !bad && !slices.Contains(r.Staged, n) {
			r.Staged = append(r.Staged, n)
		}
	}
	return r
}

// Clip cuts s to at most n bytes, between characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Quote returns a line in quotes, with its white space visible.
func Quote(s string) string {
	if len(s) > 100 {
		s = Clip(s, 100) + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "\ufffd"))
}

// MaxQuoted bounds the problems of one refusal that quote the file: more would not be read.
const MaxQuoted = 10

// shownAll is the size in bytes above which the problems of a refusal are shortened.
const shownAll = 15 << 10
