// Package retrieve finds the files of a workspace that a goal is about: by the paths and names that the goal states, by
// matching its words (BM25) against the words of paths, definitions, descriptions and references, and by the
// connections of the files found that way.
//
// It is a function of its input and reads no file: it relies on the ledger, and on the path of a file that the ledger
// does not know. Equal input gives an equal order.
package retrieve

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/ledger"
	"agent/sandbox/workspace/lang"
)

// A Hit is a file and how well it fits.
type Hit struct {
	Path  string
	Score float64 // 0 for a file that nothing connects with the goal
	// Why says for people how the file was found: "defines total".
	Why string
}

// The weights of the places of a word, the parameters of BM25, and the extra score for a name or a path of the goal.
const (
	inBase, inDir, inDefinition, inSummary, inReference = 3, 1.5, 2, 1, 0.4

	saturation, lengthShare = 3, 0.5 // counts are weighted: a name in a path alone has 3

	pathSaid, baseSaid, nameDefined, nameUsed = 60, 30, 24, 3
	// testShare scales the score of a test unless the goal speaks of tests.
	testShare = 0.6
	// Connected files get a share of the score of the best ones.
	connectedShare, connectedOf, connectedMost = 0.25, 12, 40
)

// A document is one file with the counts of the goal's words in it.
type document struct {
	path   string
	counts []float64 // of each word, weighted
	length float64
}

// Rank orders files by how well they fit a goal, the best first; files with equal scores keep their order. book may
// know more or fewer files than paths lists. summaries are descriptions of files by models.
func Rank(book *ledger.Ledger, summaries map[string]string, paths []string, goal string) []Hit {
	goal = strings.ToValidUTF8(goal[:min(len(goal), maxGoal)], "")
	terms := termsOf(goal)
	docs := make([]document, len(paths))
	w := &words{of: map[string][]string{}, terms: terms}
	for i, p := range paths {
		docs[i] = w.document(book, p, summaries[p])
	}
	hits := score(docs, len(terms))
	place := make(map[string]int, len(paths))
	for i, p := range paths {
		place[p] = i
	}
	said(book, hits, place, goal)
	if _, ofTests := terms["test"]; !ofTests {
		for i := range hits {
			if lang.IsTest(hits[i].Path) {
				hits[i].Score *= testShare
			}
		}
	}
	connect(book, hits, place)
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// termsOf numbers the words of a goal that may point to a place.
func termsOf(goal string) map[string]int {
	found := map[string]int{}
	split(goal, func(w string) {
		if _, known := found[w]; !known && len(w) > 1 && !ignored()[w] && len(found) < maxTerms {
			found[w] = len(found)
		}
	})
	return found
}

// words splits names, each once: most names of a workspace occur in many files.
type words struct {
	of    map[string][]string
	terms map[string]int
}

// document counts the words of the goal in what is known about a file.
func (w *words) document(book *ledger.Ledger, p, summary string) document {
	d := document{path: p, counts: make([]float64, len(w.terms))}
	dir, base := path.Split(p)
	w.count(&d, strings.TrimSuffix(base, path.Ext(base)), inBase)
	w.count(&d, dir, inDir)
	f, ok := book.File(p)
	if !ok {
		return d
	}
	for _, def := range f.Definitions {
		w.count(&d, def.Name, inDefinition)
	}
	w.count(&d, cmp.Or(summary, f.Summary), inSummary)
	for _, r := range f.References {
		w.count(&d, r.Name, inReference)
	}
	return d
}

// count adds the words of a text.
func (w *words) count(d *document, text string, weight float64) {
	list, known := w.of[text]
	if !known {
		split(text, func(s string) { list = append(list, s) })
		w.of[text] = list
	}
	for _, s := range list {
		d.length += weight
		if i, asked := w.terms[s]; asked {
			d.counts[i] += weight
		}
	}
}

// score ranks the documents by BM25.
func score(docs []document, terms int) []Hit {
	with, total := make([]int, terms), 0.0
	for _, d := range docs {
		total += d.length
		for i, n := range d.counts {
			if n > 0 {
				with[i]++
			}
		}
	}
	average := max(1, total/float64(max(1, len(docs))))
	hits := make([]Hit, len(docs))
	for k, d := range docs {
		hits[k].Path = d.path
		for i, n := range d.counts {
			if n == 0 {
				continue
			}
			rare := math.Log(1 + (float64(len(docs)-with[i])+0.5)/(float64(with[i])+0.5))
			hits[k].Score += rare * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*d.length/average))
		}
		if hits[k].Score > 0 {
			hits[k].Why = "words of the goal"
		}
	}
	return hits
}

// said adds the scores for the paths and names in the goal. A name that many files define counts less for each of them.
func said(book *ledger.Ledger, hits []Hit, place map[string]int, goal string) {
	bases := map[string][]int{}
	for i, h := range hits {
		if strings.Contains(goal, h.Path) && bounded(goal, h.Path) {
			hits[i].Score += pathSaid
			hits[i].Why = "the goal names it"
		}
		base := path.Base(h.Path)
		bases[base] = append(bases[base], i)
	}
	for base, at := range bases {
		if !strings.Contains(base, ".") || !strings.Contains(goal, base) || !bounded(goal, base) {
			continue
		}
		for _, i := range at {
			hits[i].Score += baseSaid / float64(len(at))
			hits[i].Why = "the goal names it"
		}
	}
	for name := range names(goal) {
		defining := book.Defining(name)
		for _, p := range defining {
			if i, ok := place[p]; ok {
				hits[i].Score += nameDefined / math.Sqrt(float64(len(defining)))
				hits[i].Why = "defines " + name
			}
		}
		using := book.Mentioning(name)
		for _, p := range using {
			if i, ok := place[p]; ok && !slices.Contains(defining, p) {
				hits[i].Score += nameUsed / math.Sqrt(float64(len(using)))
				hits[i].Why = cmp.Or(hits[i].Why, "uses "+name)
			}
		}
	}
}

// bounded reports whether a name occurs in a text as a whole: "data.py" does not name "a.py".
func bounded(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		if end < len(text) {
			after = text[end]
		}
		if !wordByte(before) && before != '-' && !wordByte(after) {
			return true
		}
		from = i + 1
	}
}

// wordByte reports whether a byte is part of a name; every byte beyond ASCII is.
func wordByte(c byte) bool {
	return c >= 0x80 || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// connect gives the files that the best ones use, and those that use them, at least a share of the best ones' score.
func connect(book *ledger.Ledger, hits []Hit, place map[string]int) {
	best := make([]int, len(hits))
	for i := range best {
		best[i] = i
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(hits[b].Score, hits[a].Score) })
	type share struct {
		score float64
		why   string
	}
	shares := map[int]share{}
	for _, i := range best[:min(len(best), connectedOf)] {
		if hits[i].Score == 0 {
			break
		}
		near := Connected(book, hits[i].Path)
		for n, c := range near[:min(len(near), connectedMost)] {
			j, ok := place[c.Path]
			if s := connectedShare * hits[i].Score / (1 + math.Log(float64(n+1))); ok && s > shares[j].score {
				shares[j] = share{s, c.Why}
			}
		}
	}
	// A file with a better score of its own keeps it: a caller uses the same words and is not the place to change.
	for j, s := range shares {
		if s.score > hits[j].Score {
			hits[j].Score, hits[j].Why = s.score, s.why
		}
	}
}

// Connected lists the files that use definitions of the file at p, or define what it uses, the most closely connected
// first. The score is the number of places.
func Connected(book *ledger.Ledger, p string) []Hit {
	takes, gives := book.Neighbours(p, math.MaxInt32)
	at := map[string]int{}
	var found []Hit
	for k, list := range [][]ledger.Neighbour{gives, takes} {
		for _, n := range list {
			i, known := at[n.Path]
			if !known {
				i = len(found)
				at[n.Path] = i
				found = append(found, Hit{Path: n.Path, Why: fmt.Sprintf("%s %s", [...]string{"uses", "is used by"}[k], p)})
			}
			found[i].Score += float64(len(n.Lines))
		}
	}
	slices.SortStableFunc(found, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Path, b.Path)) })
	return found
}
