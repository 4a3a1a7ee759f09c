// Package problem says why a response was not applied: one problem a block,
// and the refusal that lists them all with what is left to send.
//
// It owns the kinds of problem, the text of a refusal and its bounds. It knows
// neither files nor forms: what is wrong, and which lines show it, is said by
// the packages that find it.
package problem

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Problem is one block that was not applied.
type Problem struct {
	Block   int    `json:"block"`             // from 1; 0 when the response as a whole is at fault
	Path    string `json:"path,omitempty"`    // "" when no file could be told
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
	KindNoop      = "noop"            // no change is asked for
	KindOverlap   = "overlap"         // two operations change the same lines or file
	KindPath      = "path"            // the path may not be written
	KindExists    = "exists"          // a file to create is there already
	KindRefused   = "refused"         // a rule forbids it
)

// A Refusal explains why a response was not applied.
//
// It is one structure for both readers. The text goes back to the model as
// it is; a terminal shows the same; the JSON of a run holds the fields. It
// can hold lines of the workspace, so whoever sends it on must be allowed to
// see those.
type Refusal struct {
	Problems []Problem `json:"problems"`         // by block; those of the whole response first
	Staged   []int     `json:"staged,omitempty"` // blocks that matched and would have been applied, to be sent again as they are
}

// Error lists every problem, with the nearest lines: text for a person and for
// a model, of at most 16 KiB. Problems that would go beyond are told without
// the lines, then only counted.
//
// The later problems are cut, not all of them a little: whoever corrects the
// first ones from whole lines gets the others whole in the next round.
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
	// A diff quotes paths byte by byte, so that one may be no text.
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// Hidden returns a refusal with what it quotes of the files and of the response as hide
// returns it.
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
// Without it an author may send sound blocks in other words the second time,
// and trade one refusal for another. A block that is applied already or changes
// nothing is no reason to send anything.
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

// text renders one problem: block, file, reason, the nearest lines and what
// differs in them, advice. In short it leaves the lines out.
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

// count names blocks: "block 2 matches", "blocks 1, 3 to 9 match".
// Only three or more in a row are drawn together: "1 to 2" is no shorter.
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

// Plural chooses by number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Refuse makes a refusal of the response as a whole.
func Refuse(p Problem) *Refusal { return &Refusal{Problems: []Problem{p}} }

// NewRefusal sorts the problems by block and names the blocks without one.
//
// A problem without a block is one of the whole response: then nothing is
// known about the single blocks, and none is called sound. Nor is a block
// that another is to be merged with.
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

// Clip cuts s to n bytes at most, between characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Quote shows a line with its space visible.
func Quote(s string) string {
	if len(s) > 100 {
		s = Clip(s, 100) + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "\ufffd"))
}

// MaxQuoted bounds the problems of one refusal that quote the file: more would
// not be read.
const MaxQuoted = 10

// shownAll is how many bytes a whole refusal may have before it is told in short.
const shownAll = 15 << 10
