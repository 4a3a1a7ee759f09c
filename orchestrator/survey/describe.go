package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
)

// A Summary is what a model said about a file, or about the project.
type Summary struct {
	// SHA256 is the digest of the file as the model knew it, "" for the project.
	SHA256 string
	// Text is one line; "" if the model was asked and said nothing about the file.
	Text string
	// Model names the author: "gemini/gemini-2.5-flash".
	Model string
}

// A SummaryStore keeps what models said about a workspace (its absolute path, links resolved). *store.DB implements it.
type SummaryStore interface {
	// Summaries returns the latest text about every file, by path, and about the project under "".
	Summaries(ctx context.Context, workspace string) (map[string]Summary, error)
	// SaveSummaries records texts in place of those on the same paths, and forgets those of gone.
	SaveSummaries(ctx context.Context, workspace string, said map[string]Summary, gone []string) error
}

// The bounds of a description.
const (
	// describeFiles is how many files one question is about; describeAsks is how many questions one call of Describe
	// asks.
	describeFiles = 40
	describeAsks  = 5
	// maxOutline bounds the text about all files together in a question, in bytes.
	maxOutline = 4 << 10
)

// Described returns the recorded texts of models about the files of book. Texts about an older state of a file still
// count: an edit seldom changes the purpose of a file.
func Described(ctx context.Context, store SummaryStore, root string, book *ledger.Ledger) (ledger.Summaries, error) {
	known, err := store.Summaries(ctx, root)
	if err != nil {
		return ledger.Summaries{}, err
	}
	return words(book, known), nil
}

// words returns the summaries of the files of book, and of the project.
func words(book *ledger.Ledger, known map[string]Summary) ledger.Summaries {
	s := ledger.Summaries{Project: known[""].Text, Files: map[string]string{}}
	for path, said := range known {
		if _, ok := book.File(path); ok && said.Text != "" {
			s.Files[path] = said.Text
		}
	}
	return s
}

// A Describer has a model say what a project and its files are for. The model is shown what the ledger knows about a
// file, never its text.
type Describer struct {
	Store    SummaryStore
	Engineer *agent.Engineer
	// Fence is the word that quotes untrusted text; NewFenceWord draws one.
	Fence string
}

// Describe asks about the files that are new or changed since they were described, several in each question, and
// records each answer as soon as it arrives. It returns everything known by then. If there are many files, the rest
// waits for the next call. The model is asked about each state of a file once.
//
// The project is described when most of its files are. An answer in another form ends the work without an error; if a
// model gives no answer at all, the error is an *agent.StopError.
func (d *Describer) Describe(ctx context.Context, root string, book *ledger.Ledger) (ledger.Summaries, error) {
	known, err := d.Store.Summaries(ctx, root)
	if err != nil {
		return ledger.Summaries{}, err
	}
	var gone []string
	for path := range known {
		if _, ok := book.File(path); !ok && path != "" {
			gone = append(gone, path)
		}
	}
	todo := undescribed(book, known)
	// A question about few of many files says little about the whole.
	whole := known[""].Text == "" || 2*len(todo) > len(book.Paths())
	for n, paths := range slices.Collect(slices.Chunk(todo, describeFiles)) {
		if n == describeAsks {
			break
		}
		said, err := d.ask(ctx, book, known, paths, n+1)
		if err != nil {
			return words(book, known), err
		}
		if said == nil {
			break
		}
		if n > 0 || !whole {
			delete(said, "")
		}
		if err := d.Store.SaveSummaries(ctx, root, said, gone); err != nil {
			return words(book, known), err
		}
		for path, s := range said {
			known[path] = s
		}
	}
	return words(book, known), nil
}

// undescribed lists the files with a language about which no model was asked in their present state.
func undescribed(book *ledger.Ledger, known map[string]Summary) []string {
	var todo []string
	for _, path := range book.Paths() {
		f, _ := book.File(path)
		if said, ok := known[path]; f.Language != "" && (!ok || said.SHA256 != f.SHA256) {
			todo = append(todo, path)
		}
	}
	return todo
}

// ask has the model describe the files at paths and returns its texts, or nil for an answer in another form.
func (d *Describer) ask(ctx context.Context, book *ledger.Ledger, known map[string]Summary, paths []string, n int) (map[string]Summary, error) {
	lines := []string{Overview(book, words(book, known), maxOutline)}
	for _, path := range paths {
		f, _ := book.File(path)
		lines = append(lines, f.Outline())
	}
	task := agent.Task{Fence: agent.NewFence(d.Fence), Brief: agent.Brief{Project: strings.Join(lines, "\n"), Files: paths}}
	reply, err := d.Engineer.Summarise(ctx, task, fmt.Sprintf("describe/%d", n))
	if err != nil {
		return nil, err
	}
	project, about := reply.Summaries(paths)
	if len(about) == 0 {
		return nil, nil
	}
	said := map[string]Summary{}
	if project != "" {
		said[""] = Summary{Text: project, Model: reply.Model}
	}
	for _, path := range paths {
		f, _ := book.File(path)
		said[path] = Summary{SHA256: f.SHA256, Text: about[path], Model: reply.Model}
	}
	return said, nil
}
