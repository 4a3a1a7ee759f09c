package survey

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
)

// A Summary is what a model said of a file, or of the project.
type Summary struct {
	// SHA256 is the digest of the file that the model was told of, "" for the
	// project.
	SHA256 string
	// Text is one line; "" when the model was asked and said nothing of the file.
	Text string
	// Model says whose words they are: "gemini/gemini-2.5-flash".
	Model string
}

// A SummaryStore keeps what models said of a workspace (its absolute path,
// links resolved). *store.DB is one.
type SummaryStore interface {
	// Summaries returns the last word on every file, by path, and on the project
	// under "".
	Summaries(ctx context.Context, workspace string) (map[string]Summary, error)
	// SaveSummaries records words in place of those on the same paths, and
	// forgets those of gone.
	SaveSummaries(ctx context.Context, workspace string, said map[string]Summary, gone []string) error
}

// The bounds of a description.
const (
	// describeFiles is how many files one question is about, describeAsks how
	// many questions one call of Describe asks.
	describeFiles = 40
	describeAsks  = 5
	// maxOutline bounds what a question tells of all files together, in bytes.
	maxOutline = 4 << 10
)

// Described returns the recorded words of models about the files of book. Words
// about an older state of a file still count: what a file is for seldom changes
// with an edit.
func Described(ctx context.Context, store SummaryStore, root string, book *ledger.Ledger) (ledger.Summaries, error) {
	known, err := store.Summaries(ctx, root)
	if err != nil {
		return ledger.Summaries{}, err
	}
	return words(book, known), nil
}

// words are the summaries of files that book has, and of the project.
func words(book *ledger.Ledger, known map[string]Summary) ledger.Summaries {
	s := ledger.Summaries{Project: known[""].Text, Files: map[string]string{}}
	for path, said := range known {
		if _, ok := book.File(path); ok && said.Text != "" {
			s.Files[path] = said.Text
		}
	}
	return s
}

// A Describer has a model say what a project and its files are for. What the
// model is shown of a file is what the ledger knows of it, never its text.
type Describer struct {
	Store    SummaryStore
	Engineer *agent.Engineer
	// Fence is the word that quotes untrusted text; NewFenceWord draws one.
	Fence string
}

// Describe asks about the files that are new or changed since they were
// described, some of them in each question, and records each answer when it is
// there. It returns all that is known then. The rest waits for the next call
// when there are many, and the model is asked about a file once for each state
// of it.
//
// The project is described when most of its files are. An answer in another
// form ends the work without an error; the error of a model that gives no
// answer at all is an *agent.StopError.
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

// undescribed lists the files with a language that no model was told of in
// their present state.
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

// ask has the model describe the files at paths and returns its words, nil for
// an answer in another form.
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
