package survey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/ledger/decode"
	"agent/verify"
)

// A SymbolFile is the result of a scan of one file of a workspace.
type SymbolFile struct {
	// SHA256 is the digest of the scanned content, in hex: a file with the same digest need not be scanned again.
	SHA256 string
	// Doc is a [ledger.File] in JSON. It comes back with the same values, but not byte for byte: on one line, and with
	// NUL replaced in its texts.
	Doc []byte
}

// A SymbolStore keeps the results of scans by workspace (its absolute path, links resolved) and scanner: the results of
// another scanner are not visible. *store.DB implements it.
type SymbolStore interface {
	// SymbolSums returns the digest of every scanned file, by path.
	SymbolSums(ctx context.Context, workspace, scanner string) (map[string]string, error)
	// Symbols returns the results for the files at paths, as far as they are known.
	Symbols(ctx context.Context, workspace, scanner string, paths []string) (map[string]SymbolFile, error)
	// SaveSymbols records files in place of what was known about them, and forgets those that are gone.
	SaveSymbols(ctx context.Context, workspace, scanner string, changed map[string]SymbolFile, gone []string) error
}

// An Analyst keeps the ledgers of workspaces up to date. It reads only changed files again, in a box, since parsing
// hostile text is a risk.
//
// It holds what it studied last in memory and compares the record with that by digests alone: within one process, a
// study costs only as much as the change. An Analyst is safe for concurrent use, but its ledgers are not: one that it
// returned is valid until the next study of that workspace.
type Analyst struct {
	Symbols SymbolStore
	Images  gate.Snapshotter
	Boxes   verify.Launcher
	// Note receives progress, for people; nil means no one.
	Note func(text string)

	mu   sync.Mutex
	held map[string]*ledger.Ledger // by workspace

	closing sync.WaitGroup // the boxes of past studies
	left    []error        // why some of them could not be removed
}

// Close waits until the boxes of all studies are gone, and returns the errors of boxes that could not be removed; their
// label and lease let any process remove them. A study does not wait for the end of its own box, which is a large part
// of the cost of a small study.
func (a *Analyst) Close() error {
	a.closing.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.left...)
}

// sums returns the name of the scanner and the digests of the files that it has read.
func (a *Analyst) sums(ctx context.Context, root string) (scanner string, sums map[string]string, err error) {
	if scanner, err = images.Scanner(); err != nil {
		return "", nil, err
	}
	sums, err = a.Symbols.SymbolSums(ctx, root, scanner)
	return scanner, sums, err
}

// Recall returns the ledger of a workspace as recorded, without looking at the files; it is empty if the workspace was
// never studied.
func (a *Analyst) Recall(ctx context.Context, root string) (*ledger.Ledger, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	scanner, sums, err := a.sums(ctx, root)
	if err != nil {
		return nil, err
	}
	return a.recall(ctx, root, scanner, sums)
}

// recall brings the held ledger to the state of the record, which has these digests. The record decides: another
// process may have continued, or a study of this one may have ended before it was recorded. Nobody needs the ripples of
// this step, since whoever recorded the state has already reported them.
func (a *Analyst) recall(ctx context.Context, root, scanner string, sums map[string]string) (*ledger.Ledger, error) {
	book := a.held[root]
	var stale, gone []string
	for path, sum := range sums {
		if book == nil {
			stale = append(stale, path)
		} else if f, ok := book.File(path); !ok || f.SHA256 != sum {
			stale = append(stale, path)
		}
	}
	slices.Sort(stale)
	files, err := a.load(ctx, root, scanner, stale)
	if err != nil {
		return nil, err
	}
	if book == nil {
		if a.held == nil {
			a.held = map[string]*ledger.Ledger{}
		}
		book = ledger.New(files)
		a.held[root] = book
		return book, nil
	}
	for _, path := range book.Paths() {
		if _, ok := sums[path]; !ok {
			gone = append(gone, path)
		}
	}
	if len(files)+len(gone) > 0 {
		book.Update(files, gone)
	}
	return book, nil
}

// loadBatch is how many files are read from the record at once, and loaders how many batches are read concurrently.
const (
	loadBatch = 250
	loaders   = 4
)

// load reads files from the record, several batches concurrently: most of the work is reading JSON.
func (a *Analyst) load(ctx context.Context, root, scanner string, paths []string) ([]ledger.File, error) {
	batches := slices.Collect(slices.Chunk(paths, loadBatch))
	parts, errs := make([][]ledger.File, len(batches)), make([]error, len(batches))
	var loading sync.WaitGroup
	slots := make(chan struct{}, loaders)
	for i, batch := range batches {
		slots <- struct{}{}
		loading.Go(func() {
			parts[i], errs[i] = a.loadPart(ctx, root, scanner, batch)
			<-slots
		})
	}
	loading.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(parts...), nil
}

// loadPart reads one batch. It reads the record as carefully as the scanner's own answer: the database has altered it,
// and perhaps a person has.
func (a *Analyst) loadPart(ctx context.Context, root, scanner string, paths []string) ([]ledger.File, error) {
	known, err := a.Symbols.Symbols(ctx, root, scanner, paths)
	if err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	for _, f := range known {
		lines.Write(f.Doc)
		lines.WriteByte('\n')
	}
	files, err := decode.Files(&lines, slices.Collect(maps.Keys(known)))
	if err != nil {
		return nil, fmt.Errorf("read the record of symbols: %w", err)
	}
	for i := range files {
		files[i].SHA256 = known[files[i].Path].SHA256
	}
	return files, nil
}

// save records what was read, and forgets what is gone.
func (a *Analyst) save(ctx context.Context, root, scanner string, files []ledger.File, gone []string) error {
	if len(files)+len(gone) == 0 {
		return nil
	}
	docs := make(map[string]SymbolFile, len(files))
	for _, f := range files {
		doc, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("record the symbols of %s: %w", f.Path, err)
		}
		docs[f.Path] = SymbolFile{SHA256: f.SHA256, Doc: doc}
	}
	return a.Symbols.SaveSymbols(ctx, root, scanner, docs, gone)
}
