package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/ledger/decode"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/symbols"
)

// The bounds of a scan.
const (
	// maxSource is the size in bytes up to which a file is read: a larger one is data, and the scanner would refuse it
	// too.
	maxSource = 1 << 20
	// scanFiles and scanBytes bound what is sent to the box at once.
	scanFiles = 500
	scanBytes = 32 << 20
	// quietScan is the number of files up to which a scan reports nothing.
	quietScan = 1000
	// binaryHead is how many bytes of a file decide whether it is text, as in git.
	binaryHead = 8000
)

// A scan reads files of a workspace in one box, which starts with the first file that needs it.
//
// The box consists of the toolchain image alone, and the files are sent to it: freezing a whole workspace for one
// changed file would cost a hundred times as much, and the scanner reads each file by itself.
type scan struct {
	*Analyst
	base    *workspace.Manifest
	scanner string
	box     *sandbox.Box
	// For progress: how many files there are to read, and how many were read.
	total, done int
}

// all reads the files that are new to the record and those that changed. It records the new ones at once, since nobody
// has to be told about them: after a kill, a first study does not start over.
func (s *scan) all(ctx context.Context, fresh, changed []workspace.Entry) (files, again []ledger.File, err error) {
	files, err = s.read(ctx, fresh, func(files []ledger.File) error {
		return s.save(ctx, s.base.Root, s.scanner, files, nil)
	})
	if err != nil {
		return nil, nil, err
	}
	again, err = s.read(ctx, changed, nil)
	return files, again, err
}

// read has the entries parsed and returns the results, in parts of a bounded size; it passes each part to done, unless
// that is nil, as soon as it is ready.
func (s *scan) read(ctx context.Context, entries []workspace.Entry, done func([]ledger.File) error) ([]ledger.File, error) {
	var all []ledger.File
	// Each part is read, passed on and removed from the box before the next, so that memory does not grow with the
	// workspace.
	for len(entries) > 0 {
		batch := entries[:portion(entries)]
		entries = entries[len(batch):]
		files, err := s.part(ctx, batch)
		if err == nil && done != nil {
			err = done(files)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
		s.done += len(batch)
		if s.total > quietScan && s.Note != nil {
			s.Note(fmt.Sprintf("read %d of %d files", s.done, s.total))
		}
	}
	return all, nil
}

// portion returns how many of the entries to send at once, at least one. Entries that are too large to send take no
// room.
func portion(entries []workspace.Entry) int {
	size := int64(0)
	for n, e := range entries[:min(scanFiles, len(entries))] {
		if e.Size <= maxSource {
			size += e.Size
		}
		if size > scanBytes {
			return max(1, n)
		}
	}
	return min(scanFiles, len(entries))
}

// part reads one portion: texts go to the box, and the rest is recorded as not read.
func (s *scan) part(ctx context.Context, entries []workspace.Entry) ([]ledger.File, error) {
	// A file that cannot be read has a row too, under its digest: otherwise every study would look at it again.
	var files []ledger.File
	var sent workspace.Changeset
	digests := map[string]string{}
	for _, e := range entries {
		if e.Size > maxSource {
			files = append(files, ledger.File{Path: e.Path, SHA256: e.Digest, Problem: "over 1 MiB"})
			continue
		}
		// ReadFile checks the bytes against the manifest: the recorded digest belongs to exactly these bytes.
		text, err := s.base.ReadFile(e.Path)
		var moving *workspace.ChangedError
		switch {
		case errors.As(err, &moving):
			continue // the next study reads it
		case err != nil:
			return nil, err
		case bytes.IndexByte(text[:min(binaryHead, len(text))], 0) >= 0:
			files = append(files, ledger.File{Path: e.Path, SHA256: e.Digest, Problem: "not a text"})
		default:
			sent.Changes = append(sent.Changes, workspace.Change{Op: workspace.Create, Path: e.Path, Mode: 0o644, After: text})
			digests[e.Path] = e.Digest
		}
	}
	parsed, err := s.parse(ctx, sent)
	for i := range parsed {
		// Use the host's digest, whatever the box says about it: the digest decides what is read again.
		parsed[i].SHA256 = digests[parsed[i].Path]
	}
	return append(files, parsed...), err
}

// parse has files parsed in the box, and then removes them from it, so that they take no memory from the next files.
func (s *scan) parse(ctx context.Context, sent workspace.Changeset) ([]ledger.File, error) {
	if sent.Empty() {
		return nil, nil
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := s.box.Apply(ctx, sent); err != nil {
		return nil, fmt.Errorf("send %d files to be parsed: %w", len(sent.Changes), err)
	}
	// The paths are the workspace's, so the results need no translation.
	var paths []string
	for _, c := range sent.Changes {
		paths = append(paths, c.Path)
	}
	var files []ledger.File
	err := symbols.Scan(ctx, s.box, "/work", paths, func(paths []string, answer []byte) error {
		part, err := decode.Files(bytes.NewReader(answer), paths)
		files = append(files, part...)
		return err
	})
	// The last part is removed with the box.
	if err == nil && s.done+len(paths) < s.total {
		err = s.box.Apply(ctx, sent.Reverse())
	}
	return slices.Clip(files), err
}

// start starts the box unless it is running.
func (s *scan) start(ctx context.Context) error {
	if s.box != nil {
		return nil
	}
	tools, err := s.Images.Ensure(ctx, images.Toolchain)
	if err != nil {
		return fmt.Errorf("build the toolchain image: %w", err)
	}
	s.box, err = s.Boxes.Start(ctx, sandbox.Spec{
		Image: tools.ID, Run: "analyze", Purpose: "symbols", Lease: time.Now().Add(gate.LeaseFor),
	})
	if err != nil {
		return fmt.Errorf("start a box to parse in: %w", err)
	}
	return nil
}

// close removes the box, if there is one.
func (s *scan) close() error {
	if s.box == nil {
		return nil
	}
	if err := s.box.Close(); err != nil {
		return fmt.Errorf("close the box of the scan: %w", err)
	}
	return nil
}
